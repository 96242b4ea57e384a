import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { generateTrace } from '../../bench/dashboard/generated-trace.ts';
import type { Delivery, TraceEffect } from '../../clients/typescript/gen/operations.ts';
import { BatchWriter } from '../../dashboard/trace/batch.ts';
import { type Camera, fitted, moved, tickText, timeAt, xOf, zoomed } from '../../dashboard/trace/camera.ts';
import { causesOf, consequencesOf, criticalPath } from '../../dashboard/trace/flows.ts';
import { GROUP_PX, LANE_PX, layOut, rowAt } from '../../dashboard/trace/layout.ts';
import { Bars, barsOfLane } from '../../dashboard/trace/level.ts';
import { TraceModel } from '../../dashboard/trace/model.ts';
import { hitsOf, inOrder, shownBy, stepIn } from '../../dashboard/trace/selection.ts';
import { processorMs } from '../support/processor-time.ts';

const START = Date.UTC(2026, 0, 1);

const delivery = (message_id: string, cause_id: string | null, more: Partial<Delivery> = {}): Delivery => ({
  message_id,
  cause_id,
  from: null,
  to: 'execution/default/one',
  type: 'Start',
  at: new Date(START).toISOString(),
  wait_ms: 0,
  turn_ms: 1,
  node: 'n1',
  epoch: 1,
  attempt: 1,
  outcome: 'done',
  ...more,
});

const at = (ms: number): Pick<Delivery, 'at'> => ({ at: new Date(START + ms).toISOString() });

/** root → a → c, root → b; b is tried twice. */
const SMALL = [
  delivery('root', null, { to: 'workflow/default/w' }),
  delivery('a', 'root', { ...at(10), to: 'execution/default/one' }),
  delivery('b', 'root', { ...at(20), to: 'execution/default/two', outcome: 'retried' }),
  delivery('b', 'root', { ...at(60), to: 'execution/default/two', attempt: 2, epoch: 2, node: 'n2' }),
  delivery('c', 'a', { ...at(30), to: 'workflow/default/w', type: 'Ended' }),
];

const EFFECT: TraceEffect = {
  effect_id: 'e1',
  message_id: 'a',
  kind: 'model.generate',
  attempt: 1,
  node: 'n1',
  started_at: null,
  ended_at: null,
  outcome: 'open',
};

function modelOf(deliveries: readonly Delivery[], effects: readonly TraceEffect[] = []): TraceModel {
  const model = new TraceModel();
  model.append(new BatchWriter().write(deliveries, effects));
  return model;
}

const ids = (model: TraceModel, deliveries: Iterable<number>): string[] =>
  [...deliveries].map((one) => model.idOf(one));

const ALL = { kind: '', outcome: '', actor: '', node: '' };

describe('the model of a trace', () => {
  test('edges lead from a message to its cause and to what it caused, also when the effect came first', () => {
    for (const rows of [SMALL, [...SMALL].reverse()]) {
      const model = modelOf(rows);
      assert.deepEqual(ids(model, model.effectsOf(model.find('root'))), ['a', 'b']);
      assert.deepEqual(ids(model, [model.causeOf(model.find('c'))]), ['a']);
      assert.equal(model.causeOf(model.find('root')), -1);
      assert.deepEqual(ids(model, causesOf(model, model.find('c'))), ['a', 'c', 'root', 'a']);
      assert.deepEqual(ids(model, consequencesOf(model, model.find('root'))), ['root', 'a', 'root', 'b', 'a', 'c']);
      assert.equal(model.find('nobody'), -1);
    }
  });

  test('attempts of a message are deliveries of their own, and a new epoch of an actor is a takeover', () => {
    const model = modelOf(SMALL);
    const message = model.message.at(model.find('b'));
    const attempts = Array.from({ length: model.count }, (_, one) => one).filter(
      (one) => model.message.at(one) === message,
    );
    assert.deepEqual(
      attempts.map((one) => model.outcomeOf(one)),
      ['retried', 'done'],
    );
    assert.equal(model.lanes.items.length, SMALL.length);
    assert.deepEqual(
      attempts.map((one) => model.takeover.at(one)),
      [0, 1],
    );
  });

  test('an effect that is open lasts until the trace was last read, while it runs', () => {
    const model = modelOf(SMALL, [EFFECT]);
    const length = model.endedAt - START;
    model.readAt(START + 5_000);
    assert.deepEqual([model.lastMoment, model.effectEnd(0)], [START + 5_000, START + 5_000]);
    model.readAt(null);
    assert.equal(model.lastMoment, START + length);
    const done = modelOf(SMALL, [{ ...EFFECT, ended_at: new Date(START + 50).toISOString(), outcome: 'done' }]);
    done.readAt(START + 5_000);
    assert.equal(done.lastMoment, START + length);
  });

  test('the critical path is the chain of causes that ended last', () => {
    const model = modelOf(SMALL);
    assert.deepEqual(ids(model, criticalPath(model)), ['root', 'b']);
  });

  test('a page that is read again adds only what is new, and numbers stay', () => {
    const writer = new BatchWriter();
    const model = new TraceModel();
    assert.equal(model.append(writer.write(SMALL.slice(0, 3), [EFFECT])), 3);
    const [version, first] = [model.version, model.find('a')];
    assert.equal(model.append(writer.write(SMALL.slice(0, 3), [EFFECT])), 0);
    assert.equal(model.version, version);
    const ended: TraceEffect = { ...EFFECT, ended_at: new Date(START + 90).toISOString(), outcome: 'done' };
    assert.equal(model.append(writer.write(SMALL, [ended])), 2);
    assert.equal(model.find('a'), first);
    assert.equal(model.effects.count, 1);
    assert.equal(model.effectEnd(0), START + 90);
    assert.equal(model.endedAt, START + 90);
    assert.equal(model.name(model.effectLane(0)), 'execution/default/one');
  });

  test('100,000 deliveries to 10,000 actors become a model within seconds, with the edges that the pages contain', () => {
    const { deliveries, effects } = generateTrace({ deliveries: 100_000, lanes: 10_000 });
    const writer = new BatchWriter();
    const batches = Array.from({ length: 100 }, (_one, page) =>
      writer.write(deliveries.slice(page * 1_000, (page + 1) * 1_000), page === 99 ? effects : []),
    );
    const model = new TraceModel();
    const tookMs = processorMs(() => {
      for (const batch of batches) model.append(batch);
      assert.ok(model.lanes.starts.length > 0);
    });
    assert.ok(tookMs < 5_000, `${tookMs} ms`);
    const { starts } = model.lanes;
    assert.equal(model.count, 100_000);
    const used = model.names.filter((_name, lane) => (starts[lane + 1] ?? 0) > (starts[lane] ?? 0));
    assert.equal(used.length, new Set(deliveries.map(({ to }) => to)).size);
    for (const index of [1, 500, 99_999]) {
      const row = deliveries[index];
      const cause = model.causeOf(model.find(row?.message_id ?? ''));
      assert.equal(model.idOf(cause), row?.cause_id);
    }
  });
});

describe('filters and search of a trace', () => {
  const model = modelOf(SMALL);

  test('conditions hold together, and none shows everything', () => {
    assert.equal(shownBy(model, ALL), null);
    const shown = shownBy(model, { ...ALL, kind: 'execution', node: 'n1', actor: 'TWO' });
    assert.deepEqual(ids(model, inOrder(model, shown)), ['b']);
    assert.deepEqual(ids(model, inOrder(model, shownBy(model, { ...ALL, outcome: 'retried' }))), ['b']);
    assert.equal(inOrder(model, shownBy(model, { ...ALL, outcome: 'dead-lettered' })).length, 0);
  });

  test('a text finds types, actors, nodes, outcomes and ids, and steps go through the hits by time', () => {
    assert.deepEqual(ids(model, hitsOf(model, 'ended', null)), ['c']);
    assert.deepEqual(ids(model, hitsOf(model, 'workflow/', null)), ['root', 'c']);
    assert.deepEqual(ids(model, hitsOf(model, 'n2', null)), ['b']);
    assert.deepEqual(ids(model, hitsOf(model, 'oot', null)), ['root']);
    const names = new Map([['two', 'Summary']]);
    assert.deepEqual(ids(model, hitsOf(model, 'summ', null, names)), ['b', 'b']);
    assert.deepEqual(ids(model, inOrder(model, shownBy(model, { ...ALL, actor: 'summary' }, names))), ['b', 'b']);
    assert.equal(hitsOf(model, ' ', null).length, 0);
    const order = inOrder(model, null);
    assert.deepEqual(ids(model, order), ['root', 'a', 'b', 'c', 'b']);
    assert.equal(stepIn(order, model.find('a'), 1), order[2]);
    assert.equal(stepIn(order, -1, 1), order[0]);
    assert.equal(stepIn(order, order[0] ?? -1, -1), order[0]);
  });
});

describe('the layout of a trace', () => {
  const camera: Camera = { from: START, to: START + 100, width: 1_000, scroll: 0 };

  test('lanes stand in groups by their first delivery, and a folded group is one row', () => {
    const model = modelOf(SMALL);
    const open = layOut(model, { by: 'kind', toggled: new Set(), shown: null });
    assert.deepEqual(
      open.groups.map(({ name, lanes, deliveries }) => [name, lanes, deliveries]),
      [
        ['workflow', 1, 2],
        ['execution', 2, 3],
      ],
    );
    assert.equal(open.height, 2 * GROUP_PX + 3 * LANE_PX);
    assert.equal(rowAt(open, GROUP_PX + 1), 1);
    assert.equal(rowAt(open, 1e9), open.rows.length - 1);
    const folded = layOut(model, { by: 'kind', toggled: new Set(['execution']), shown: null });
    assert.equal(folded.rows.length, 3);
    assert.equal(folded.rowOfLane[model.names.indexOf('execution/default/two')], 2);
    const byNode = layOut(model, { by: 'node', toggled: new Set(), shown: null });
    assert.deepEqual(
      byNode.groups.map(({ name, lanes }) => [name, lanes]),
      [
        ['n1', 2],
        ['n2', 1],
      ],
    );
  });

  test('a lane of 100,000 deliveries has no more bars than half its pixels, and none is lost in the count', () => {
    const rows = Array.from({ length: 100_000 }, (_one, index) =>
      delivery(`m${index}`, index === 0 ? null : 'm0', { ...at(index / 1_000), turn_ms: 0.0005 }),
    );
    const model = modelOf(rows);
    const bars = { turns: new Bars(8_192), waits: new Bars(8_192) };
    barsOfLane(model, model.to.at(0), camera, null, bars);
    assert.ok(bars.turns.length <= 502, String(bars.turns.length));
    const counted = bars.turns.count.subarray(0, bars.turns.length).reduce((sum, one) => sum + one, 0);
    assert.equal(counted, 100_000);
  });

  test('a long delivery is drawn although it began before the window, and the worst outcome decides the colour', () => {
    const model = modelOf([
      delivery('long', null, { turn_ms: 5_000 }),
      delivery('x', 'long', at(6_000)),
      delivery('y', 'long', { ...at(6_000.2), outcome: 'dead-lettered', turn_ms: 0.01 }),
    ]);
    const bars = { turns: new Bars(64), waits: new Bars(64) };
    const late = { ...camera, from: START + 4_000, to: START + 4_100 };
    barsOfLane(model, model.to.at(0), late, null, bars);
    assert.equal(bars.turns.length, 1);
    assert.equal(bars.turns.delivery[0], 0);
    barsOfLane(model, model.to.at(0), { ...camera, to: START + 1_000_000 }, null, bars);
    const worst = [...bars.turns.outcome.subarray(0, bars.turns.length)];
    assert.ok(worst.includes(model.outcome.at(2)));
  });

  test('zoom keeps the moment under the pointer, and the window stays near the trace', () => {
    const extent = { from: START, to: START + 10_000 };
    const all = fitted({ ...camera, width: 800 }, extent);
    const moment = timeAt(all, 200);
    const near = zoomed(all, 50, 200, extent);
    assert.ok(Math.abs(xOf(near, moment) - 200) < 0.01);
    const far = zoomed(near, 1e-9, 200, extent);
    assert.ok(far.to - far.from <= 10_000 * 1.05);
    const beyond = moved(near, 1e9, extent);
    assert.ok(beyond.from < extent.to);
    assert.equal(tickText(1_500, 500), '1.5 s');
    assert.equal(tickText(0.25, 0.05), '0.25 ms');
    assert.equal(tickText(3_661_000, 60_000), '1:01:01');
  });
});
