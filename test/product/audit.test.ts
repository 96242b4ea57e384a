import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { verifyEntries } from '../../manifests/audit/verify-entries.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { ProductNode } from './product-node.ts';

const CANARY = 'canary-7f3e-value';
/** Minimum number of operations that each process of the node acknowledges. */
const EACH_LIFE = 4;

const Entries = z.object({
  entries: z.array(
    z.looseObject({ operation: z.string(), target: z.string().nullable(), outcome: z.string(), sequence: z.number() }),
  ),
  next_page_token: z.string().optional(),
});

/** All entries, read in pages of 100. */
async function entriesOf(node: ProductNode, query = ''): Promise<z.output<typeof Entries>['entries']> {
  const all = [];
  for (let token = ''; ; ) {
    const { text } = await node.call('GET', `/v1/audit?limit=100${query}${token}`);
    const { entries, next_page_token } = Entries.parse(JSON.parse(text));
    all.push(...entries);
    if (next_page_token === undefined) return all;
    token = `&page_token=${next_page_token}`;
  }
}

const Tapped = z.object({ storage: z.object({ event: z.string(), volume_id: z.string() }) });

const Chains = z.object({
  tenant: z.string(),
  chains: z.array(z.object({ node: z.string(), first: z.number(), checkpoint: z.string().nullable() })),
  statements: z.array(z.string()),
});

/** The output of `svc audit export`, and the result of its verification. */
async function verified(node: ProductNode) {
  const { tenant, chains, statements } = Chains.parse((await node.call('GET', '/v1/audit/chains')).body);
  const whole = [];
  for (const { node: of, checkpoint } of chains) {
    const records: unknown[] = [];
    for (let more = true; more; ) {
      const { body } = await node.call('GET', `/v1/audit/records?node=${of}&after=${records.length}`);
      const page = z.array(z.unknown()).parse(body.records);
      records.push(...page);
      more = page.length > 0;
    }
    whole.push({ node: of, checkpoint, records });
  }
  const { keys } = z
    .object({ keys: z.array(z.looseObject({ kty: z.string() })) })
    .parse((await node.call('GET', '/.well-known/jwks.json')).body);
  return verifyEntries({ format: 'svc-audit-operations/v1', tenant, chains: whole, statements }, { keys });
}

/** Stores secrets, several at once, until the node is gone; returns the paths that were acknowledged. */
async function storeUntilGone(node: ProductNode, life: number): Promise<string[]> {
  const acknowledged: string[] = [];
  const worker = async (name: number): Promise<void> => {
    for (let index = 0; ; index += 1) {
      const path = `audit/life-${life}-${name}-${index}`;
      const answer = await node
        .json('PUT', `/v1/secrets/${encodeURIComponent(path)}`, { value: CANARY })
        .catch(() => null);
      if (answer === null) return;
      if (answer.status === 200) acknowledged.push(path);
    }
  };
  const workers = [1, 2, 3, 4].map(worker);
  await waitUntil('some are stored', () => acknowledged.length >= EACH_LIFE);
  // The moment of the kill varies.
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 400));
  await node.process.kill();
  await Promise.all(workers);
  return acknowledged;
}

describe('the audit of a node', () => {
  let node: ProductNode;
  before(async () => {
    node = await ProductNode.start({ spec: { audit: { fail_closed: true } } });
  });
  after(() => node?.[Symbol.asyncDispose]());

  it('kill -9 loses no entry of an acknowledged operation in fail-closed mode, and the chain verifies', async () => {
    const acknowledged: string[] = [];
    for (let life = 0; life < sample({ quick: 1, normal: 3, long: 20 }); life += 1) {
      acknowledged.push(...(await storeUntilGone(node, life)));
      await node.spawn();
    }
    const entries = await entriesOf(node, '&operation=secrets.put');
    for (const outcome of ['begun', 'ok']) {
      const recorded = new Set(entries.filter((one) => one.outcome === outcome).map(({ target }) => target));
      assert.deepEqual(
        acknowledged.filter((path) => !recorded.has(path)),
        [],
        outcome,
      );
    }
    assert.equal(new Set(entries.map(({ sequence }) => sequence)).size, entries.length);
    const { valid, faults, signature } = await verified(node);
    assert.deepEqual([valid, faults, signature], [true, [], 'good']);
    assert.equal(JSON.stringify(entries).includes(CANARY), false);
  });

  it('has the storage events of volumes, which the tap shows as they happen, also those of a blocked path', async () => {
    const { body } = await node.json('POST', '/v1/volumes', { name: 'watched' });
    const id = z.string().parse(body.id);
    const signal = AbortSignal.timeout(30_000);
    const tapped = await fetch(`${node.url}/v1/tap?actor=volume/${id}`, { signal });
    const content = `/v1/volumes/${id}/files/content?path=`;
    for (const path of ['notes.txt', '../above'])
      await node.call('PUT', `${content}${path}`, {
        body: 'text',
        headers: { 'content-type': 'application/octet-stream' },
      });
    await node.call('GET', `${content}notes.txt`);
    const names = ['FileCreated', 'PathTraversalBlocked', 'FileRead'];
    let text = '';
    for await (const chunk of tapped.body ?? assert.fail()) {
      text += Buffer.from(chunk).toString();
      if (text.includes('FileRead')) break;
    }
    const records = text.split('\n').filter((line) => line.startsWith('data: '));
    const events = records.map((line) => Tapped.parse(JSON.parse(line.slice(6))).storage);
    assert.deepEqual(
      events.map(({ event, volume_id }) => [event, volume_id]),
      names.map((name) => [name, id]),
    );
    const entries = await waitUntil('the entries', async () => {
      const all = await entriesOf(node, '&from=2020-01-01T00:00:00Z');
      const stored = all.filter(({ operation }) => operation.startsWith('storage.')).reverse();
      return stored.length < 4 ? null : stored;
    });
    assert.deepEqual(
      entries.map(({ operation, target, outcome }) => [operation, target, outcome]),
      [
        ['storage.VolumeCreated', id, 'ok'],
        ['storage.FileCreated', `${id}/notes.txt`, 'ok'],
        ['storage.PathTraversalBlocked', `${id}/../above`, 'denied'],
        ['storage.FileRead', `${id}/notes.txt`, 'ok'],
      ],
    );
    assert.deepEqual((await verified(node)).faults, []);
  });
});
