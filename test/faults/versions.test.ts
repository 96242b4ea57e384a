import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf, partitionOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { SvcError } from '../../runtime/errors.ts';
import { counter } from '../support/actors.ts';
import { type Kernel, type Kernels, openKernels, PARTITIONS } from '../support/kernels.ts';
import { NodeProcess } from '../support/node-process.ts';
import { FORMAT_1, FORMAT_2, FORMAT_3, versionMissing } from '../support/old-version.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { WorkflowCalls } from '../support/workflow-kill-calls.ts';
import { openVersions } from './rounds/versions.ts';

const skip = serversMissing();

const Add = z.object({ by: z.number() });

/** The actor kind of the older program. */
const oldSum = defineActor({
  kind: 'sum',
  version: 1,
  state: z.object({ value: z.number() }),
  initial: () => ({ value: 0 }),
  messages: { Add },
  events: {},
  on: {
    Add(state, { by }, turn) {
      turn.reply(state.value + by);
      return { value: state.value + by };
    },
  },
});

/** The same kind of the newer program, which also counts its turns. */
const newSum = defineActor({
  kind: 'sum',
  version: 2,
  state: z.object({ total: z.number(), turns: z.number() }),
  initial: () => ({ total: 0, turns: 0 }),
  migrate: (state) => ({ total: z.object({ value: z.number() }).parse(state).value, turns: 0 }),
  messages: { Add },
  events: {},
  on: {
    Add(state, { by }, turn) {
      turn.reply(state.total + by);
      return { total: state.total + by, turns: state.turns + 1 };
    },
  },
});

const unavailable = (error: unknown): boolean => error instanceof SvcError && error.code === 'unavailable';

describe('versions that share a fleet', { skip, timeout: 300_000 }, () => {
  let kernels: Kernels;
  before(async () => {
    kernels = await openKernels();
  });
  after(() => kernels?.[Symbol.asyncDispose]());

  const layout = { pool: 'default', partitions: PARTITIONS };
  /** `count` addresses of a kind whose home is one of these partitions. */
  const among = (kind: string, held: readonly string[], count: number) => {
    const found: Address[] = [];
    while (found.length < count) {
      const address = addressOf(kind, 'acme', randomUUID());
      if (held.includes(partitionOf(address, layout))) found.push(address);
    }
    return found;
  };
  const heldByBoth = (a: Kernel, b: Kernel): Promise<unknown> =>
    waitUntil('both nodes hold a share', () => {
      const shares = [a, b].map(({ runtime }) => runtime.held().length);
      return shares.every((share) => share > 0) && shares.reduce((sum, share) => sum + share) === PARTITIONS + 2;
    });

  test('a new node takes over the state that an old one wrote, and migrates it', async () => {
    const before = await kernels.start('migrate-old', { definitions: [oldSum] });
    const address = addressOf('sum', 'acme', randomUUID());
    assert.equal(await before.runtime.client.ask(address, 'Add', { by: 2 }), 2);
    await before.stop();
    const fresh = await kernels.start('migrate-new', { definitions: [newSum] });
    assert.equal(await fresh.runtime.client.ask(address, 'Add', { by: 3 }), 5);
    assert.deepEqual((await fresh.runtime.client.read(address))?.state, { total: 5, turns: 1 });
    await fresh.stop();
  });

  test('an old node never overwrites the state of a newer one: its actor waits, and is served when the old node has left', async () => {
    const fresh = await kernels.start('mixed-new', { definitions: [newSum, counter] });
    const sums = among('sum', fresh.runtime.held(), 24);
    for (const address of sums) assert.equal(await fresh.runtime.client.ask(address, 'Add', { by: 1 }), 1);
    const old = await kernels.start('mixed-old', { definitions: [oldSum, counter] });
    await heldByBoth(fresh, old);
    const isOld = (address: (typeof sums)[number]): boolean =>
      old.runtime.held().includes(partitionOf(address, layout));
    const onOld = sums.filter(isOld);
    const onNew = sums.filter((address) => !isOld(address));
    assert.ok(onOld.length > 0 && onNew.length > 0);

    // Partitions of the new node are served, through either node.
    for (const address of onNew) assert.equal(await old.runtime.client.ask(address, 'Add', { by: 1 }), 2);
    // The old node accepts messages for its partitions; they wait, and it logs the reason.
    const asks = onOld.map((address) => fresh.runtime.client.ask(address, 'Add', { by: 1 }, { timeoutMs: 60_000 }));
    await waitUntil('the old node logs the reason', () =>
      old.warnings.some((warning) => warning.includes('a newer version (2) of sum wrote this actor')),
    );
    const [first] = onOld;
    assert.ok(first !== undefined);
    await assert.rejects(old.runtime.client.read(first), unavailable);
    assert.deepEqual((await fresh.runtime.client.read(first))?.state, { total: 1, turns: 1 });
    // While a program of an older format may be in the fleet, actors of the same partition wait as well.
    const [neighbour] = among('counter', [partitionOf(first, layout)], 1);
    assert.ok(neighbour !== undefined);
    let isAnswered = false;
    const beside = fresh.runtime.client.ask(neighbour, 'Add', { by: 1 }, { timeoutMs: 60_000 }).then((value) => {
      isAnswered = true;
      return value;
    });
    await waitUntil(
      'its message waits in the mailbox',
      async () => (await fresh.runtime.client.mailbox(neighbour)).depth === 1,
    );
    const told = old.warnings.length;
    await waitUntil('the old node has tried again', () => old.warnings.length > told + 1);
    assert.equal(isAnswered, false);

    await old.stop();
    assert.deepEqual(new Set(await Promise.all(asks)), new Set([2]));
    assert.equal(await beside, 1);
    for (const address of sums)
      assert.deepEqual((await fresh.runtime.client.read(address))?.state, { total: 2, turns: 2 });
    await fresh.stop();
  });

  test('a member whose record this version cannot read counts as alive, holds no partition, and disturbs no other member', async () => {
    const node = await kernels.start('reader', { definitions: [counter] });
    const incarnation = randomUUID();
    const card = JSON.stringify({ schema: 'of another century', role: 'emperor' });
    const stranger = { node: 'stranger', incarnation, card };
    assert.equal(await node.stores.store.announce(stranger, 60_000, true), true);
    const { members } = await waitUntil('the node sees it', async () => {
      const view = await node.placement.view();
      return view.members.length === 2 && view;
    });
    assert.equal(members.find((member) => member.node_id === 'stranger')?.info, null);
    assert.equal(node.placement.isLive('stranger'), true);
    assert.equal(node.runtime.held().length, PARTITIONS + 2, 'this node holds all partitions');
    assert.equal(await node.runtime.client.ask(addressOf('counter', 'acme', randomUUID()), 'Add', { by: 1 }), 1);
    await node.stores.store.retire('stranger', incarnation);
    await node.stop();
  });

  test('a kind that is on no node is not found, and other actors of its partition are served', async () => {
    const old = await kernels.start('kinds-old', { definitions: [counter] });
    const fresh = await kernels.start('kinds-new', { definitions: [counter, newSum] });
    await heldByBoth(fresh, old);
    const [unknown] = among('sum', old.runtime.held(), 1);
    assert.ok(unknown !== undefined);
    await assert.rejects(fresh.runtime.client.ask(unknown, 'Add', { by: 1 }), { code: 'not_found' });
    const [neighbour] = among('counter', [partitionOf(unknown, layout)], 1);
    assert.ok(neighbour !== undefined);
    assert.equal(await fresh.runtime.client.ask(neighbour, 'Add', { by: 1 }), 1);
    await Promise.all([old.stop(), fresh.stop()]);
  });
});

describe('a version of an older format', { timeout: 660_000 }, () => {
  const all = [
    [1, FORMAT_1, 'sqlite'],
    [2, FORMAT_2, 'sqlite'],
    [2, FORMAT_2, 'redis'],
    [3, FORMAT_3, 'sqlite'],
    [3, FORMAT_3, 'redis'],
  ] as const;
  for (const [format, commit, store] of someOf(all, all.length)) {
    test(`this version takes over an older store, then refuses the older version, and loses nothing (format ${format}, ${store})`, async (t) => {
      const missing = (await versionMissing(commit)) || (store === 'redis' && skip);
      if (missing) return t.skip(missing);
      const seed = Date.now() % 1_000_000;
      const faults = await openVersions(store, [commit]);
      try {
        const { notes, hung, nodesEnded, lost, repeated, runs } = await faults.round(seed);
        const said = `seed ${seed}: ${notes?.join('; ')}`;
        assert.deepEqual({ hung, nodesEnded, lost, repeated }, { hung: 0, nodesEnded: 0, lost: 0, repeated: 0 }, said);
        assert.ok(runs >= 8, said);
      } finally {
        await faults.close();
      }
    });
  }
});

const AT_ONCE = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: at-once, version: 1.0.0 }
spec:
  initial_state: DONE
  states: { DONE: { kind: System, command: finalize, env: { outcome: done }, transitions: [] } }
`;

describe('restored backups', { timeout: 300_000 }, () => {
  test('a restored backup of documents that is older than the log: the start is refused by name until the operator accepts exactly that loss', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-backup-'));
    const [data, backup] = [join(directory, 'data'), join(directory, 'backup')];
    const node = new NodeProcess(['--data', data]);
    const calls = new WorkflowCalls(node, AbortSignal.timeout(280_000));
    const runToTheEnd = async (): Promise<string> => {
      const id = await calls.run('at-once', {}, randomUUID());
      await waitUntil('the run to end', async () => (await calls.get(id)).status === 'completed', 30_000);
      return id;
    };
    try {
      node.spawn();
      await calls.deploy(AT_ONCE);
      const before = await runToTheEnd();
      await node.stop();
      await cp(data, backup, { recursive: true });
      node.spawn();
      await runToTheEnd();
      await node.stop();
      await rm(join(data, 'documents.db'));
      await cp(join(backup, 'documents.db'), join(data, 'documents.db'));

      node.spawn();
      const refusal = await node.url.then(
        () => 'it came up',
        (error: unknown) => String(error),
      );
      assert.match(refusal, /documents\.db is older than \S+actors\.db/);
      const [word = ''] = /--accept-older-documents ([0-9a-f]{12})/.exec(refusal)?.slice(1) ?? [];
      const accepting = new NodeProcess(['--data', data, '--accept-older-documents', word]);
      accepting.spawn();
      await accepting.url;
      await accepting.stop();
      node.spawn();
      assert.equal((await calls.get(before)).status, 'completed');
      assert.ok(await runToTheEnd());

      // Documents newer than the log are no loss of documents, so the start is not refused.
      await node.stop();
      for (const file of ['actors.db', 'actors.db-wal', 'actors.db-shm']) await rm(join(data, file), { force: true });
      await cp(join(backup, 'actors.db'), join(data, 'actors.db'));
      node.spawn();
      assert.ok(await runToTheEnd());
    } finally {
      await node.kill();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  });

  test('a data file of a later version: the node exits with code 1 and one line that names both versions', async () => {
    const data = await mkdtemp(join(tmpdir(), 'svc-later-'));
    const database = new DatabaseSync(join(data, 'actors.db'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    const node = new NodeProcess(['--data', data]);
    try {
      node.spawn();
      await assert.rejects(node.url, /has format 99, written by .* and this is svc .*, which reads formats 1 to \d+/);
      assert.equal(node.exitCode, 1);
    } finally {
      await node.kill();
      await rm(data, { recursive: true, force: true });
    }
  });
});
