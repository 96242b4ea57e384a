import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import { addressOf } from '../../runtime/address.ts';
import type { SegmentRef } from '../../runtime/ledger/key-pages.ts';
import type { LedgerDelivery, LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import { BY_POSITION, BY_TIME, readPage } from '../../runtime/ledger/reading.ts';
import { nextField } from '../../usecases/operations/schemas/paging.ts';
import { counter } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const fresh = (kind: string) => addressOf(kind, 'acme', randomUUID());

/** Null is a ledger that a node does not keep. */
function kept(ledger: LedgerReader | null): LedgerReader {
  assert.ok(ledger !== null);
  return ledger;
}

test('a delivery is found by its message, its trace and its actor, with the node that handled it', async () => {
  const node = await startKernelNode({ definitions: [counter] });
  try {
    const to = fresh('counter');
    const trace = randomUUID().replaceAll('-', '');
    const ids = [randomUUID(), randomUUID(), randomUUID()];
    for (const messageId of ids) await node.runtime.client.ask(to, 'Add', { by: 1 }, { messageId, trace });
    const ledger = kept(node.runtime.ledger);
    const [id = ''] = ids;
    await waitUntil('the deliveries in the ledger', async () => {
      return (await ledger.trace('acme', trace, { limit: 10 })).deliveries.length === 3;
    });
    const [delivery, ...others] = await ledger.message('acme', id);
    assert.deepEqual(
      [delivery?.message.to, delivery?.node, delivery?.row?.outcome, others],
      [to, 'node-a', 'done', []],
    );
    const first = await ledger.actor(to, { limit: 2 });
    const second = await ledger.actor(to, { limit: 2, after: first.next ?? '' });
    assert.deepEqual(
      [...first.deliveries, ...second.deliveries].map(({ message }) => message.id),
      ids,
    );
    assert.equal(second.next, null);
    const newest = await ledger.actor(to, { limit: 2, newestFirst: true });
    assert.deepEqual(
      newest.deliveries.map(({ message }) => message.id),
      ids.slice(1).reverse(),
    );
    const recent = await ledger.recent('acme', { limit: 2, roots: true });
    assert.deepEqual(
      recent.deliveries.map(({ message }) => message.id),
      ids.slice(1).reverse(),
    );
    assert.ok(recent.next !== null);
    const older = await ledger.recent('acme', { limit: 2, roots: true, after: recent.next });
    assert.deepEqual(
      older.deliveries.map(({ message }) => message.id),
      ids.slice(0, 1),
    );
    assert.deepEqual(await ledger.message('other', id), []);
    assert.deepEqual((await ledger.recent('other', { limit: 10 })).deliveries, []);
  } finally {
    await node.stop();
  }
});

/** Segments of many nodes with one delivery each, and what reads them. */
class ManyNodes {
  readonly segments: SegmentRef[] = [];
  readonly #deliveries: LedgerDelivery[] = [];
  readonly #to = fresh('counter');

  /** A node writes a segment. */
  write(node: number, from: number, round: number): void {
    const writer = `svc-worker-6f7c9d8b5-${node}`;
    const seq = this.segments.length + 1;
    this.segments.push({ tenant: 'acme', id: `default:0.${seq}`, last: seq, from, to: from + 1, writer, round });
    const message = { id: 'm', to: this.#to, from: null, cause: null, trace: 't', type: 'Add', payload: null };
    const shared = { partition: 'default:0', epoch: 1, row: null, body: '', effect: null } as const;
    this.#deliveries.push({ ...shared, at: from, seq, node: writer, message: { ...message, origin: 'client' } });
  }

  async page(limit: number, after?: string, order = BY_TIME) {
    const read = async (_tenant: string, refs: readonly SegmentRef[]) =>
      refs.flatMap(({ last }) => this.#deliveries[last - 1] ?? []);
    const wish = { tenant: 'acme', wanted: { part: null, fits: () => true }, order, limit, after };
    return readPage({ read }, [...this.segments], wish);
  }
}

const ROUND = 1_795_629_600_000;

test('the page token of a list that a thousand nodes wrote fits a request, and pages hold each delivery once while it grows', async () => {
  const ledger = new ManyNodes();
  for (let at = 0; at < 2_000; at += 1) ledger.write(at % 1_000, at * 10, ROUND + at * 10);
  const found: number[] = [];
  let next: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await ledger.page(100, next);
    found.push(...page.deliveries.map(({ seq }) => seq));
    if (page.next === null) break;
    assert.equal(nextField.parse(page.next), page.next);
    assert.ok(pages < 100, 'the pages have no end');
    next = page.next;
    if (pages > 25) continue;
    // Nodes that wrote long ago, some a moment ago, and new ones, of times before the page and behind it.
    for (const node of [pages, 999 - pages, 2_000 + pages]) ledger.write(node, pages * 700, ROUND + 20_000 + pages);
  }
  assert.equal(found.length, ledger.segments.length);
  assert.equal(new Set(found).size, found.length);
});

test('a page token of an earlier version is still accepted', async () => {
  const ledger = new ManyNodes();
  for (let at = 0; at < 3; at += 1) ledger.write(at, at, ROUND + at);
  const upTo = Object.fromEntries(ledger.segments.map(({ writer, round }) => [writer, round]));
  const last = { group: '', from: 0, place: [1, 'default:0', 2, -1] };
  const old = Buffer.from(JSON.stringify({ done: {}, upTo, last })).toString('base64url');
  assert.deepEqual(
    (await ledger.page(10, old)).deliveries.map(({ seq }) => seq),
    [3],
  );
});

test('a page token of the version before, without the time of its delivery, is still accepted, and that version reads those of today', async () => {
  const ledger = new ManyNodes();
  for (let at = 0; at < 3; at += 1) ledger.write(0, at, ROUND + at);
  const { next } = await ledger.page(1, undefined, BY_POSITION);
  const { last, ...rounds } = NextOfBefore.parse(JSON.parse(Buffer.from(next ?? '', 'base64url').toString()));
  assert.deepEqual(last, { group: 'default~0', from: 0, place: [1, 'default:0', 1, -1] });
  const old = Buffer.from(JSON.stringify({ ...rounds, last })).toString('base64url');
  assert.deepEqual(
    (await ledger.page(10, old, BY_POSITION)).deliveries.map(({ seq }) => seq),
    [2, 3],
  );
});

/** What the version before this one reads of a page token. */
const NextOfBefore = z.object({
  w: z.string(),
  f: z.tuple([z.number(), z.number()]),
  last: z.object({
    group: z.string(),
    from: z.number(),
    place: z.tuple([z.number(), z.string(), z.number(), z.number()]),
  }),
});
