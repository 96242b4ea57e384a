import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import { calculateJwkThumbprint } from 'jose';
import type { EntryExport } from '../../../manifests/audit/entries.ts';
import { type EntriesVerdict, verifyEntries } from '../../../manifests/audit/verify-entries.ts';
import type { ChainedAudit } from '../../../security/audit/operation-audit.ts';
import { chainsOf, recordsBehind } from '../../../security/audit/reader.ts';
import { AuditRetention, CHECKPOINTS, type CheckpointDocument } from '../../../security/audit/retention.ts';
import { CHAINS, type ChainDocument, Statements } from '../../../security/audit/statements.ts';
import { createPublishedKeys } from '../../../security/keys/published-keys.ts';
import type { SigningParts } from '../../../security/signed-token.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type AuditStore, auditOf, auditStore, callOf } from './audit-store.ts';

const TENANT = 'acme';

/** Signing keys of a node, in memory. */
async function signingOf(store: AuditStore, clock: HandClock): Promise<SigningParts> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  const kid = await calculateJwkThumbprint({ kty: 'RSA', n, e }, 'sha256');
  const jwk = { kty: 'RSA', n, e, kid, alg: 'RS256', use: 'sig' } as const;
  const nothing = async (): Promise<void> => {};
  return {
    keys: {
      ...{ open: nothing, rotate: nothing, close: nothing },
      sign: async (data) => ({ kid, signature: sign('sha256', data, privateKey) }),
      publicKeys: async () => [jwk],
    },
    published: createPublishedKeys({ documents: store.documents, clock }),
  };
}

interface AuditNode {
  readonly audit: ChainedAudit;
  readonly statements: Statements;
  readonly retention: AuditRetention;
  readonly warned: string[];
  /** Changes something, and waits until its entry is stored. */
  change(operation: string): Promise<void>;
  /** What an auditor gets, and what verification says. */
  verify(): Promise<EntriesVerdict>;
}

/** Nodes of one fleet over one store. */
async function nodeOf(store: AuditStore, node: string, clock: HandClock, ofStore = clock): Promise<AuditNode> {
  const chains = await store.documents.collection<ChainDocument>(CHAINS);
  const checkpoints = await store.documents.collection<CheckpointDocument>(CHECKPOINTS);
  const signing = await signingOf(store, clock);
  const opening: Promise<void>[] = [];
  const { audit, warned } = auditOf(store.blocks, {
    ...{ node, clock, failClosed: true },
    onOpened: (tenant) => void opening.push(statements.opened(tenant)),
  });
  const warn = (message: string): void => void warned.push(message);
  const { blocks } = store;
  const now = async (): Promise<number> => ofStore.now();
  const retention = new AuditRetention({ days: 30, blocks, chains, checkpoints, signing, clock, now, warn });
  // The tests run the sweep themselves, since months pass in them.
  retention.close();
  const statements = new Statements({
    ...{ node, chains, blocks: store.blocks, signing, clock, isFleet: true },
    ends: () => audit.ends(),
    warn: (message, error) => void warned.push(`${message} ${String(error)}`),
  });
  return {
    ...{ audit, statements, warned },
    retention,
    async change(operation) {
      await (await audit.begin(callOf(operation))).end({ outcome: 'ok' });
      await Promise.all(opening);
    },
    async verify() {
      const { blocks } = store;
      const found = await chainsOf({ blocks, chains, checkpoints, statements }, TENANT);
      const exported: EntryExport = {
        ...{ format: 'svc-audit-operations/v1', tenant: TENANT, statements: [...found.statements] },
        chains: await Promise.all(
          found.chains.map(async ({ node: of, checkpoint }) => {
            const records = await recordsBehind(blocks, { tenant: TENANT, node: of, after: 0, limit: 1_000 });
            return { node: of, checkpoint, records: [...records] };
          }),
        ),
      };
      return verifyEntries(exported, { keys: [...(await signing.published.all())] });
    },
  };
}

/** Two nodes that changed something and stated each other's ends. */
async function fleet(store: AuditStore) {
  const clock = new HandClock();
  await clock.pass(Date.parse('2026-01-01T00:00:00Z'));
  const [a, b] = [await nodeOf(store, 'node-a', clock), await nodeOf(store, 'node-b', clock)];
  await a.change('agents.delete');
  await b.change('agents.deploy');
  await a.change('secrets.put');
  for (const node of [a, b, a, b]) {
    await clock.pass(2_000);
    await node.statements.round();
  }
  return { clock, a, b };
}

const kindsOf = ({ faults }: EntriesVerdict): string[] => faults.map(({ node, kind }) => `${node} ${kind}`);

async function cutTail(store: AuditStore, node: string, from: number): Promise<void> {
  assert.ok((await store.blocks.deleteMany({ tenant: TENANT, where: { node, first: { gte: from } } })) > 0);
}

describe('statements of nodes about each other', () => {
  it('name the ends of all chains, and a node that has nothing new signs nothing', async () => {
    await using store = await auditStore();
    const { clock, a, b } = await fleet(store);
    const verdict = await a.verify();
    assert.deepEqual([verdict.valid, verdict.signature, verdict.faults], [true, 'good', []]);
    assert.deepEqual(
      verdict.chains.map(({ node, records, unsigned, stated_by }) => [node, records, unsigned, stated_by]),
      [
        ['node-a', 5, 0, ['node-a', 'node-b']],
        ['node-b', 3, 0, ['node-a', 'node-b']],
      ],
    );
    const chains = await store.documents.collection<ChainDocument>(CHAINS);
    const versions = async () => (await chains.find({ tenant: TENANT, limit: 10 })).map(({ version }) => version);
    const before = await versions();
    for (const node of [a, b, a, b]) {
      await clock.pass(2_000);
      await node.statements.round();
    }
    assert.deepEqual(await versions(), before);
    assert.deepEqual([...a.warned, ...b.warned], []);
  });

  it('show a tail that was cut from the store together with the statement of its own node', async () => {
    await using store = await auditStore();
    const { b } = await fleet(store);
    await cutTail(store, 'node-a', 4);
    await (await store.documents.collection<ChainDocument>(CHAINS)).delete(TENANT, 'node-a');
    assert.deepEqual(kindsOf(await b.verify()), ['node-a missing']);
  });

  it('show a tail that was cut while the statements stay, and a running node leaves a gap after a cut', async () => {
    await using store = await auditStore();
    const { a, b } = await fleet(store);
    await cutTail(store, 'node-a', 4);
    assert.deepEqual(kindsOf(await b.verify()), ['node-a truncated']);
    await a.change('agents.delete');
    assert.deepEqual(kindsOf(await b.verify()).slice(0, 1), ['node-a missing']);
  });

  it('show a second history that a restored node writes, although its links and its signatures are right', async () => {
    await using store = await auditStore();
    const { clock, b } = await fleet(store);
    await cutTail(store, 'node-a', 4);
    const again = await nodeOf(store, 'node-a', clock);
    for (const operation of ['agents.other', 'agents.another']) await again.change(operation);
    await clock.pass(2_000);
    await again.statements.round();
    await clock.pass(2_000);
    await b.statements.round();
    assert.deepEqual(kindsOf(await b.verify()), ['node-a two_histories']);
  });

  it('a restarted node does not contradict its earlier statements', async () => {
    await using store = await auditStore();
    const { clock } = await fleet(store);
    const again = await nodeOf(store, 'node-b', clock);
    await again.statements.round();
    await cutTail(store, 'node-a', 4);
    const found = await again.verify();
    assert.deepEqual(kindsOf(found), ['node-a truncated']);
    assert.deepEqual(again.warned, []);
  });

  it('a statement that no published key signed is not repeated', async () => {
    await using store = await auditStore();
    const { clock, a, b } = await fleet(store);
    const chains = await store.documents.collection<ChainDocument>(CHAINS);
    const [known] = await chains.find({ tenant: TENANT, where: { node: 'node-a' }, limit: 1 });
    assert.ok(known !== undefined);
    const [head, , signature] = (known.statement ?? '').split('.');
    const content = { tenant: TENANT, by: 'node-a', signed_at: '2026-01-01T09:00:00.000Z' };
    const forged = { ...content, ends: [{ node: 'node-a', sequence: 999, hash: 'f'.repeat(64) }] };
    const statement = [head, Buffer.from(JSON.stringify(forged)).toString('base64url'), signature].join('.');
    await chains.put({ ...known, version: known.version + 1, statement });
    await clock.pass(2_000);
    await b.statements.round();
    assert.match(b.warned.join('\n'), /statement of node node-a, tenant acme has no valid signature/);
    assert.deepEqual(kindsOf(await a.verify()), ['null bad_head']);
  });
});

describe('the last statement of a node', () => {
  it('is not waited for longer than a stop may take', async () => {
    await using store = await auditStore();
    const clock = new HandClock();
    const chains = await store.documents.collection<ChainDocument>(CHAINS);
    const puts: ChainDocument[] = [];
    const { audit, warned } = auditOf(store.blocks, { clock, failClosed: true });
    const statements = new Statements({
      ...{ node: 'node-1', blocks: store.blocks, signing: await signingOf(store, clock), clock, isFleet: false },
      chains: {
        find: (find) => chains.find(find),
        insert: (chain) => chains.insert(chain),
        put(chain) {
          puts.push(chain);
          return puts.length === 1 ? chains.put(chain) : new Promise<never>(() => {});
        },
      },
      ends: () => audit.ends(),
      warn: (message) => void warned.push(message),
    });
    await (await audit.begin(callOf('agents.delete'))).end({ outcome: 'ok' });
    await statements.round();
    await (await audit.begin(callOf('agents.deploy'))).end({ outcome: 'ok' });
    const closed = statements.close(1_000);
    await waitUntil('the last statement', () => puts.length === 2);
    await clock.pass(1_000);
    await closed;
    assert.deepEqual(warned, []);
  });
});

describe('retention of the audit', () => {
  const DAY_MS = 86_400_000;

  it('removes old entries behind a signed checkpoint, and the rest of each chain verifies', async () => {
    await using store = await auditStore();
    const { clock, a, b } = await fleet(store);
    for (const node of [a, b]) await node.statements.close(1_000);
    await clock.pass(20 * DAY_MS);
    for (const node of [a, b]) await node.change('agents.deploy');
    await clock.pass(20 * DAY_MS);
    for (const node of [a, b]) await node.change('agents.delete');
    await b.retention.sweep();
    const verdict = await b.verify();
    assert.deepEqual(verdict.faults, []);
    assert.deepEqual(
      verdict.chains.map(({ node, records }) => [node, records]),
      [
        // The chain is closed before each pause and opened again after it.
        ['node-a', 7],
        ['node-b', 7],
      ],
    );
    const first = await recordsBehind(store.blocks, { tenant: TENANT, node: 'node-a', after: 0, limit: 1 });
    assert.deepEqual([first[0]?.sequence, first[0]?.body.kind], [7, 'opened']);
  });

  it('a node whose clock is a year ahead removes nothing early', async () => {
    await using store = await auditStore();
    const { clock, a, b } = await fleet(store);
    for (const node of [a, b]) await node.change('agents.deploy');
    const before = (await a.verify()).chains.map(({ records }) => records);
    const wrong = new HandClock();
    await wrong.pass(365 * DAY_MS);
    const ahead = await nodeOf(store, 'node-c', wrong, clock);
    await ahead.retention.sweep();
    assert.deepEqual(
      (await a.verify()).chains.map(({ records }) => records),
      before,
    );
  });

  it('keeps the newest entry of a chain whatever its age, so that a node continues it', async () => {
    await using store = await auditStore();
    const { clock, a, b } = await fleet(store);
    for (const node of [a, b]) await node.statements.close(1_000);
    await clock.pass(100 * DAY_MS);
    await a.retention.sweep();
    const again = await nodeOf(store, 'node-a', clock);
    await again.change('agents.delete');
    assert.deepEqual((await again.verify()).faults, []);
  });

  it('a beginning that was removed without a checkpoint is a fault', async () => {
    await using store = await auditStore();
    const { a } = await fleet(store);
    await store.blocks.deleteMany({ tenant: TENANT, where: { node: 'node-a', last: { lte: 3 } } });
    assert.ok(kindsOf(await a.verify()).includes('node-a missing'));
  });
});
