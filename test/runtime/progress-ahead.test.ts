import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import type { ActorStore, Commit } from '../../runtime/actor-store.ts';
import { type Address, addressOf } from '../../runtime/address.ts';
import { defineEffect } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { createPayloads } from '../../runtime/turns/payload.ts';
import { type LedgerLine, replayActor } from '../../runtime/turns/replay.ts';
import { readLedger } from '../contract/actor-lines.ts';
import { job, workEffect } from '../support/actors.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const Text = z.object({ text: z.string() });

/** Names of the events of a job; of its parts the texts. */
async function told(node: KernelNode, to: Address): Promise<string[]> {
  const events = await node.runtime.client.events(to, 0, 100);
  return events.map(({ name, payload }) => (name === 'part' ? Text.parse(payload).text : name));
}

async function run(node: KernelNode, input: JsonObject): Promise<Address> {
  const to = addressOf('job', 'acme', randomUUID());
  await node.runtime.client.ask(to, 'Run', { input, ahead: true });
  return to;
}

const untilEnded = (node: KernelNode, to: Address) =>
  waitUntil('the end', async () => (await told(node, to)).at(-1) === 'ended');

/** Notes the commits that the kernel sends, and what entered the mailbox through effects. */
const noting =
  (commits: Commit[], sent: string[] = []) =>
  (inner: ActorStore): Partial<ActorStore> => ({
    commit(commit, readAhead) {
      commits.push(commit);
      return inner.commit(commit, readAhead);
    },
    progressEffect(partition, id, attempt, delivery) {
      sent.push(delivery.id);
      return inner.progressEffect(partition, id, attempt, delivery);
    },
  });

test('messages of an effect that ends at once are in its commit, before its result; the ledger has each, and replay the same record', async () => {
  const [commits, sent]: [Commit[], string[]] = [[], []];
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    store: noting(commits, sent),
  });
  try {
    const to = await run(node, { value: 'made', parts: ['a', 'b', 'c'] });
    assert.deepEqual(await told(node, to), ['started', 'a', 'b', 'c', 'ended']);
    assert.deepEqual([commits.length, sent], [1, []]);
    const actor = { tenant: 'acme', address: to, partition: 'default:0' } as const;
    const lines = await waitUntil('the ledger', async () => {
      const found: LedgerLine[] = [];
      for await (const line of readLedger(node.documents, createPayloads(node.blobs), actor)) found.push(line);
      return found.length === 5 ? found : null;
    });
    assert.deepEqual(
      lines.map(({ seq }) => seq),
      [1, 1.0001, 1.0002, 1.0003, 1.0004],
    );
    const retry = { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 20 };
    const replayed = await replayActor(job, to, lines, { retry });
    assert.deepEqual(replayed.record.state, (await node.runtime.client.read(to))?.state);
    assert.deepEqual(replayed.events, await node.runtime.client.events(to, 0, 100));
  } finally {
    await node.stop();
  }
});

test('messages held for a commit that fails are dropped with it: each arrives once, from the effect that runs again', async () => {
  let failures = 0;
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    store: (inner) => ({
      async commit(commit, readAhead) {
        failures += 1;
        if (failures > 1) return inner.commit(commit, readAhead);
        throw new SvcError('internal', 'the store refuses this commit');
      },
    }),
  });
  try {
    const to = await run(node, { value: 'made', parts: ['a', 'b'] });
    await untilEnded(node, to);
    assert.deepEqual(await told(node, to), ['started', 'a', 'b', 'ended']);
  } finally {
    await node.stop();
  }
});

test('an effect that goes on after its commit has sent what was held, and more messages than are held keep their order', async () => {
  const sent: string[] = [];
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    store: noting([], sent),
  });
  try {
    const waiting = await run(node, { waitForAbort: true, parts: ['a', 'b'] });
    await waitUntil('its parts', async () => (await told(node, waiting)).length === 3);
    assert.deepEqual(await told(node, waiting), ['started', 'a', 'b']);
    assert.equal(sent.length, 2);
    await node.runtime.client.ask(waiting, 'Stop', {});
    const parts = Array.from({ length: 18 }, (_, n) => `${n}`);
    const many = await run(node, { value: 'made', parts });
    await untilEnded(node, many);
    assert.deepEqual(await told(node, many), ['started', ...parts, 'ended']);
    const large = ['x'.repeat(100_000), 'y'];
    const long = await run(node, { value: 'made', parts: large });
    await untilEnded(node, long);
    assert.deepEqual(await told(node, long), ['started', ...large, 'ended']);
  } finally {
    await node.stop();
  }
});

test('an effect that ends while its commit is written gives messages and result to the next commit, beside the mailbox', async () => {
  const [commits, sent]: [Commit[], string[]] = [[], []];
  const { promise: isWritten, resolve: write } = Promise.withResolvers<void>();
  const { promise: hasEnded, resolve: end } = Promise.withResolvers<void>();
  const slow = defineEffect({
    kind: 'test.work',
    input: z.looseObject({}),
    async run(_, context) {
      await context.progress('a');
      await isWritten;
      setImmediate(end);
      return 'made';
    },
  });
  const node = await startKernelNode({
    definitions: [job],
    handlers: [slow],
    store: (inner) => ({
      ...noting(commits, sent)(inner),
      async commit(commit, readAhead) {
        commits.push(commit);
        if (commits.length === 1) {
          write();
          await hasEnded;
        }
        return inner.commit(commit, readAhead);
      },
    }),
  });
  try {
    const to = await run(node, {});
    await untilEnded(node, to);
    assert.deepEqual(await told(node, to), ['started', 'a', 'ended']);
    assert.deepEqual(sent, []);
    assert.deepEqual(
      commits.map(({ settles, results }) => [settles?.length, results]),
      [
        [0, undefined],
        [1, 2],
      ],
    );
  } finally {
    await node.stop();
  }
});
