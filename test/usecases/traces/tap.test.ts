import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../../runtime/clock.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { LedgerTail } from '../../../runtime/ledger/ledger-tail.ts';
import { createTapApi, MOST_TAPS, type TapApi, type TapFilter, type TapRecord } from '../../../usecases/traces/tap.ts';
import type { TraceParts } from '../../../usecases/traces/trace.ts';
import type { KernelNode } from '../../support/kernel-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { linkOf, newTrace, openLinks, SECRET, user } from './fixture.ts';

const ann = user('ann');

describe('the tap', () => {
  let node: KernelNode;
  let parts: TraceParts;
  let tap: TapApi;
  before(async () => {
    ({ node, parts } = await openLinks());
    const { documents } = node;
    tap = createTapApi({
      ...parts,
      clock: systemClock,
      tail: (tenant) => LedgerTail.open({ documents, payloads: parts.payloads, clock: systemClock, tenant }),
    });
  });
  after(() => node.stop());

  /** Records of a tap until `count` came; `once` runs when it is open. */
  async function records(
    filter: TapFilter,
    count: number,
    once: () => Promise<void>,
    viewer = ann,
  ): Promise<TapRecord[]> {
    const ended = new AbortController();
    const found: TapRecord[] = [];
    let begun = false;
    for await (const some of await tap.open(viewer, filter, { signal: ended.signal, heartbeatMs: 1 })) {
      if (!begun) await once();
      begun = true;
      if (some === null) continue;
      found.push(...some);
      if (found.length >= count) break;
    }
    ended.abort();
    return found;
  }
  const pass = (id: string, along: string[], trace = newTrace(), identity = ann) =>
    node.runtime.client.tell(linkOf(id), 'Pass', { along, api_key: SECRET }, { trace, identity });

  test('shows deliveries as they happen, with their trace, and nothing of before', async () => {
    const before = newTrace();
    await pass('old', [], before);
    await node.runtime.client.ask(linkOf('old'), 'Own', { owner: 'ann' }, { identity: ann });
    const trace = newTrace();
    const found = await records({ trace }, 2, () => pass('a', ['b'], trace));
    const rows = found.flatMap((record) => ('delivery' in record ? [record.delivery] : []));
    assert.deepEqual(
      rows.map(({ to, type, trace_id, outcome }) => [to, type, trace_id, outcome]),
      [
        ['link/acme/a', 'Pass', trace, 'done'],
        ['link/acme/b', 'Pass', trace, 'done'],
      ],
    );
    assert.equal(rows[1]?.cause_id, rows[0]?.message_id);
    assert.doesNotMatch(JSON.stringify(found), new RegExp(SECRET));
  });

  test('shows only what its filter names', async () => {
    for (const filter of [{ actor: 'link/c2' }, { kind: 'link', type: 'Refuse' }, { outcome: 'refused' as const }]) {
      const found = await records(filter, 1, async () => {
        await pass('c1', ['c2']);
        await node.runtime.client.tell(linkOf('c2'), 'Refuse', {}, { identity: ann });
      });
      const [first] = found;
      assert.ok(first !== undefined && 'delivery' in first);
      assert.equal(first.delivery.to, 'link/acme/c2', JSON.stringify(filter));
    }
  });

  test('shows neither another tenant nor another user’s run', async () => {
    await node.runtime.client.ask(linkOf('own'), 'Own', { owner: 'ann' }, { identity: ann });
    const bob = user('bob');
    const found = await records(
      {},
      1,
      async () => {
        await pass('own', []);
        await node.runtime.client.tell(linkOf('x', 'other'), 'Pass', { along: [] }, { identity: ann });
        await pass('all', [], newTrace(), bob);
      },
      bob,
    );
    const [first] = found;
    assert.ok(first !== undefined && 'delivery' in first);
    assert.equal(first.delivery.to, 'link/acme/all');
  });

  test('says how many deliveries it dropped when there were too many', async () => {
    let reads = 0;
    const many = createTapApi({
      ...parts,
      clock: systemClock,
      tail: async () => ({
        read: async () => {
          reads += 1;
          return { deliveries: [], skipped: reads === 2 ? 4_711 : 0 };
        },
      }),
    });
    const ended = new AbortController();
    for await (const some of await many.open(ann, {}, { signal: ended.signal, heartbeatMs: 60_000 })) {
      assert.deepEqual(some, [{ dropped: 4_711 }]);
      break;
    }
    ended.abort();
  });

  test('shows storage events to those who may see their volume, and only where the filter leaves room for them', async () => {
    const event = {
      tenant: 'acme',
      path: '/a',
      workflow_execution_id: null,
      at: '2026-01-01T00:00:00.000Z',
      details: {},
    };
    const news = [
      { ...event, event: 'FileRead', volume_id: 'v-1', owner: null },
      { ...event, event: 'FileWritten', volume_id: 'v-2', owner: null },
      { ...event, event: 'FileRead', volume_id: 'of-bob', owner: 'bob' },
      { ...event, event: 'FileRead', volume_id: 'unknown' },
    ] as const;
    const storage = async () => {
      const left = news.slice();
      return { read: async () => ({ events: left.splice(0), skipped: 0 }) };
    };
    const quiet = createTapApi({
      ...parts,
      clock: systemClock,
      tail: async () => ({ read: async () => ({ deliveries: [], skipped: 0 }) }),
      storage,
    });
    const rows: readonly (readonly [TapFilter, string[], ReturnType<typeof user>?])[] = [
      [{}, ['v-1', 'v-2']],
      [{ kind: 'volume' }, ['v-1', 'v-2', 'of-bob'], user('bob')],
      [{ kind: 'volume' }, ['v-1', 'v-2', 'of-bob', 'unknown'], user('root', { kind: 'local' })],
      [{ actor: 'volume/v-2' }, ['v-2']],
      [{ type: 'FileRead' }, ['v-1']],
      [{ type: 'Pass' }, []],
      [{ kind: 'link' }, []],
      [{ outcome: 'done' }, []],
      [{ trace: newTrace() }, []],
    ];
    for (const [filter, volumes, viewer = ann] of rows) {
      const ended = new AbortController();
      const seen: string[] = [];
      for await (const some of await quiet.open(viewer, filter, { signal: ended.signal, heartbeatMs: 0 })) {
        if (some === null) break;
        for (const record of some) {
          assert.ok('storage' in record && !('owner' in record.storage));
          seen.push(record.storage.volume_id);
        }
      }
      ended.abort();
      assert.deepEqual(seen, volumes, JSON.stringify(filter));
    }
  });

  test('deliveries beyond the limit of one read are counted and not read', async () => {
    const { documents } = node;
    const tail = await LedgerTail.open({ documents, payloads: parts.payloads, clock: systemClock, tenant: 'acme' });
    await node.runtime.client.tell(linkOf('m0', 'other'), 'Pass', { along: [] }, { identity: ann });
    for (const id of ['m1', 'm2', 'm3']) await pass(id, []);
    let counted = 0;
    await waitUntil('three deliveries to be counted', async () => {
      const { deliveries, skipped } = await tail.read(0);
      assert.deepEqual(deliveries, []);
      counted += skipped;
      return counted >= 3;
    });
    // The delivery in another tenant, which came before them, is not counted.
    assert.equal(counted, 3);
  });

  test('a tenant has a limited number of taps on a node, and one that ended makes room', async () => {
    const ended = new AbortController();
    const options = { signal: ended.signal, heartbeatMs: 1 };
    const opened = async () => {
      const records = (await tap.open(ann, {}, options))[Symbol.asyncIterator]();
      await records.next();
      return records;
    };
    const [first, ...others] = await Promise.all(Array.from({ length: MOST_TAPS }, opened));
    const isTooMany = (error: unknown): boolean => error instanceof SvcError && error.code === 'rate_limited';
    await assert.rejects(tap.open(ann, {}, options), isTooMany);
    await tap.open(user('eve', { tenant: 'other' }), {}, options);
    await first?.return?.();
    others.push(await opened());
    ended.abort();
    await Promise.all(others.map((one) => one.return?.()));
    await opened();
  });
});
