import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { criticalPath, endOf, type TimedDelivery } from '../../../usecases/traces/critical-path.ts';
import { coveredMs, traceTimes } from '../../../usecases/traces/summary.ts';

const delivery = (id: string, cause: string | null, at: number, more: Partial<TimedDelivery> = {}): TimedDelivery => ({
  message_id: id,
  cause_id: cause,
  to: 'job/acme/a',
  type: 'Do',
  at,
  wait_ms: 1,
  turn_ms: 2,
  origin: cause === null ? 'client' : 'actor',
  effect_kind: null,
  ...more,
});

/** A tree of deliveries with any times, also such that clocks of nodes disagree, in any order. */
const traces = fc
  .array(
    fc.record({
      parent: fc.nat(),
      at: fc.integer({ min: 0, max: 10_000 }),
      wait_ms: fc.integer({ min: 0, max: 500 }),
      turn_ms: fc.integer({ min: 0, max: 500 }),
      origin: fc.constantFrom('actor' as const, 'timer' as const, 'effect' as const),
      repeats: fc.boolean(),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .chain((rows) => {
    const all = rows.map(({ parent: _parent, repeats, ...times }, index) => {
      const id = repeats && index > 1 ? index - 1 : index;
      return delivery(`m${id}`, id === 0 ? null : `m${(rows[id]?.parent ?? 0) % id}`, times.at, {
        ...times,
        effect_kind: times.origin === 'effect' ? 'model.generate' : null,
      });
    });
    return fc.shuffledSubarray(all, { minLength: all.length });
  });

describe('the critical path of a trace', () => {
  test('goes from the root over turns, mailboxes and effects to the delivery that ended last', () => {
    const path = criticalPath([
      delivery('root', null, 100),
      delivery('side', 'root', 104),
      delivery('result', 'root', 150, { origin: 'effect', effect_kind: 'model.generate' }),
      delivery('timer', 'result', 200, { origin: 'timer' }),
      delivery('last', 'timer', 210),
    ]);
    assert.deepEqual(
      path.map(({ kind, message_id, from, until }) => [kind, message_id, from, until]),
      [
        ['mailbox', 'root', 100, 101],
        ['turn', 'root', 101, 103],
        ['effect', 'result', 103, 150],
        ['mailbox', 'result', 150, 151],
        ['turn', 'result', 151, 153],
        ['timer', 'timer', 153, 200],
        ['mailbox', 'timer', 200, 201],
        ['turn', 'timer', 201, 203],
        ['relay', 'last', 203, 210],
        ['mailbox', 'last', 210, 211],
        ['turn', 'last', 211, 213],
      ],
    );
    assert.equal(path.find(({ kind }) => kind === 'effect')?.effect_kind, 'model.generate');
  });

  test('of no delivery is empty', () => assert.deepEqual(criticalPath([]), []));

  test('has no gap, no overlap and no empty stretch, and ends where the trace ends', () => {
    fc.assert(
      fc.property(traces, (deliveries) => {
        const path = criticalPath(deliveries);
        for (const [index, { from, until }] of path.entries()) {
          assert.ok(from < until);
          if (index > 0) assert.equal(from, path[index - 1]?.until);
        }
        const last = Math.max(...deliveries.map(endOf));
        if (path.length > 0) assert.equal(path.at(-1)?.until, last);
        const known = new Set(deliveries.map(({ message_id }) => message_id));
        assert.ok(path.every(({ message_id }) => known.has(message_id)));
      }),
    );
  });

  test('follows causes: each message of it is the cause of the one after it', () => {
    fc.assert(
      fc.property(traces, (deliveries) => {
        const causes = new Map(deliveries.map(({ message_id, cause_id }) => [message_id, cause_id]));
        const onPath = criticalPath(deliveries).map(({ message_id }) => message_id);
        const order = onPath.filter((id, index) => id !== onPath[index - 1]);
        assert.equal(new Set(order).size, order.length);
        const above = (id: string): string[] => {
          const cause = causes.get(id) ?? null;
          return cause === null || !causes.has(cause) ? [] : [cause, ...above(cause)];
        };
        for (const [index, id] of order.entries()) {
          const next = order[index + 1];
          if (next !== undefined) assert.ok(above(next).includes(id), `${id} causes ${next}`);
        }
      }),
    );
  });

  test('is the same for any order of the deliveries with different ends', () => {
    fc.assert(
      fc.property(traces, (deliveries) => {
        fc.pre(new Set(deliveries.map(endOf)).size === deliveries.length);
        assert.deepEqual(criticalPath(deliveries), criticalPath(deliveries.toReversed()));
      }),
    );
  });
});

describe('where the time of a trace went', () => {
  test('the parts of the critical path add up to its duration', () => {
    fc.assert(
      fc.property(traces, (deliveries) => {
        const { critical_path: path, duration_ms } = traceTimes({ deliveries, effects: [], people: [] });
        const effects = path.effects.reduce((total, { ms }) => total + ms, 0);
        const parts = path.mailbox_ms + path.turns_ms + effects + path.timers_ms + path.relay_ms;
        assert.ok(Math.abs(parts - path.duration_ms) < 1e-6);
        assert.ok(path.duration_ms <= duration_ms + 1e-6);
      }),
    );
  });

  test('effects are grouped by kind, longest first; one that runs counts up to the end of the trace', () => {
    const { effects } = traceTimes({
      deliveries: [delivery('root', null, 100), delivery('last', 'root', 197)],
      effects: [
        { effect_id: 'a', kind: 'tool.call', started_at: 110, ended_at: 120 },
        { effect_id: 'b', kind: 'model.generate', started_at: 110, ended_at: 150 },
        { effect_id: 'c', kind: 'model.generate', started_at: 180, ended_at: null },
        { effect_id: 'd', kind: 'tool.call', started_at: null, ended_at: null },
      ],
      people: [],
    });
    assert.deepEqual(effects, [
      { kind: 'model.generate', count: 2, ms: 60 },
      { kind: 'tool.call', count: 2, ms: 10 },
    ]);
  });

  test('waits for people count each moment once', () => {
    const wait = fc.record({ from: fc.integer({ min: 0, max: 200 }), until: fc.integer({ min: 0, max: 200 }) });
    fc.assert(
      fc.property(fc.array(wait), (waits) => {
        const moments = Array.from({ length: 200 }, (_, at) => at);
        const covered = moments.filter((at) => waits.some(({ from, until }) => from <= at && at < until));
        assert.equal(coveredMs(waits), covered.length);
      }),
    );
  });

  test('a trace without deliveries took no time', () => {
    const times = traceTimes({ deliveries: [], effects: [], people: [] });
    assert.deepEqual([times.duration_ms, times.deliveries, times.critical_path.duration_ms], [0, 0, 0]);
  });
});
