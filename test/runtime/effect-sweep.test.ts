import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EffectRow } from '../../runtime/actor-store.ts';
import type { Partition } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type HandedOver, PartitionSweeps, sweepEffects } from '../../runtime/dispatch/partition-sweeps.ts';
import type { EffectJob } from '../../runtime/effect-queue.ts';
import { SvcError } from '../../runtime/errors.ts';

const NOW = 1_000_000;
const row = (id: string, status: EffectRow['status'], until: number, runner = ''): EffectRow => ({
  ...{ id, status, until, runner, queue: 'default', address: 'probe/acme/x', mode: 'repeatable', attempt: 1 },
});
const ROWS = [
  row('due', 'open', NOW - 5),
  row('soon', 'open', NOW + 500),
  row('far', 'open', NOW + 60_000),
  row('silent', 'started', NOW - 1, 'a/life-1'),
  row('kept', 'started', NOW + 3_000, 'b/life-2'),
];

async function swept(dead: readonly string[]): Promise<Record<string, [delayMs: number, token: string | undefined]>> {
  const queued: Record<string, [number, string | undefined]> = {};
  const enqueue = async (job: EffectJob, delayMs = 0, token?: string) => {
    queued[job.id] = [delayMs, token];
  };
  const store = { openEffects: async () => ROWS, now: async () => NOW };
  await sweepEffects(store, { enqueue }, 'default:1', { isLive: (runner) => !dead.includes(runner) });
  return queued;
}

test('a sweep enqueues effects that are due, that will be due before the next sweep, or that their runner gave back', async () => {
  assert.deepEqual(await swept([]), { due: [0, undefined], soon: [500, undefined], silent: [0, 'life-1'] });
});

test('an effect that a dead runner had started is enqueued at once, beside the job it took', async () => {
  const queued = await swept(['b/life-2']);
  assert.deepEqual(queued.kept, [0, 'life-2']);
});

test('a queued effect is enqueued once, and again only when the queue may have lost it', async () => {
  const waiting = Array.from({ length: 600 }, (_, n) => row(`waits-${n}`, 'open', 0));
  const handed = new Map<string, HandedOver>();
  const counts = new Map<string, number>();
  const enqueue = async ({ id }: EffectJob) => void counts.set(id, (counts.get(id) ?? 0) + 1);
  const sweepAt = (ms: number, rows: readonly EffectRow[], token?: string) =>
    sweepEffects({ openEffects: async () => [...rows], now: async () => NOW + ms }, { enqueue }, 'default:1', {
      handed,
      token,
    });

  assert.equal(await sweepAt(0, waiting), 600);
  for (let ms = 2_000; ms < 30_000; ms += 2_000) assert.equal(await sweepAt(ms, waiting), 0, `${ms} ms later`);
  // A process with jobs of the queue died: each effect is enqueued once more for that death.
  assert.equal(await sweepAt(29_000, waiting, 'life-1'), 600);
  assert.equal(await sweepAt(29_500, waiting, 'life-1'), 0);
  counts.clear();
  let most = 0;
  for (let ms = 30_000; ms <= 90_000; ms += 2_000) most = Math.max(most, await sweepAt(ms, waiting));
  assert.equal(most, 40, 'spread over the sweeps');
  assert.ok(
    waiting.every(({ id }) => counts.has(id)),
    'each was handed over again within a minute',
  );
  // A retry is another row; what has ended is forgotten.
  assert.equal(await sweepAt(91_000, [row('waits-0', 'open', NOW + 92_000)]), 1);
  assert.deepEqual([...handed.keys()], ['waits-0']);
});

test('an effect that could not be enqueued is enqueued by the next sweep', async () => {
  const handed = new Map<string, HandedOver>();
  const store = { openEffects: async () => [row('due', 'open', 0)], now: async () => NOW };
  let fails = true;
  const enqueue = async () => {
    if (fails) throw new SvcError('unavailable');
  };
  await assert.rejects(sweepEffects(store, { enqueue }, 'default:1', { handed }), { code: 'unavailable' });
  fails = false;
  assert.equal(await sweepEffects(store, { enqueue }, 'default:1', { handed }), 1);
});

/** Sweeps of one partition every two seconds, and how often its effects were read. */
function sweptOften(first: readonly EffectRow[]) {
  const seen = { rows: first, ms: 0, reads: 0, live: true, queued: [] as string[] };
  const lease = { log: 'default:1', node: 'a', epoch: 1, grant: 'grant' } as const;
  const store = {
    openEffects: async () => {
      seen.reads += 1;
      return [...seen.rows];
    },
    now: async () => NOW + seen.ms,
  };
  const enqueue = async ({ id }: EffectJob) => void seen.queued.push(id);
  const sweeps = new PartitionSweeps({
    ...{ store, queue: { enqueue }, clock: systemClock },
    leaseOf: () => lease,
    isLive: () => seen.live,
  });
  const until = async (ms: number): Promise<void> => {
    for (; seen.ms < ms; await sweeps.sweep()) seen.ms += 2_000;
  };
  return { seen, sweeps, until, begin: () => sweeps.acquired(lease) };
}

test('effects that run or wait are not read by each sweep, however many there are', async () => {
  const waiting = Array.from({ length: 50 }, (_, n) => row(`waits-${n}`, 'started', NOW + 60_000, 'b/life-1'));
  const { seen, until, begin } = sweptOften(waiting);
  await begin();
  await until(20_000);
  assert.equal(seen.reads, 3);
  assert.deepEqual(seen.queued, []);
});

test('a sweep pauses in proportion to the effects that it read, a second at most, and not after a death', async () => {
  const pauses: number[] = [];
  const clock = {
    after(delayMs: number, call: () => void) {
      pauses.push(delayMs);
      const timer = setImmediate(call);
      return () => clearImmediate(timer);
    },
  };
  const store = {
    openEffects: async (partition: Partition) =>
      Array.from({ length: counts.get(partition) ?? 0 }, (_, n) => row(`${n}`, 'started', NOW + 60_000, 'b/life-1')),
    now: async () => NOW,
  };
  const counts = new Map<Partition, number>([
    ['default:1', 3],
    ['default:2', 40],
    ['default:3', 100_000],
    ['default:4', 100_000],
  ]);
  const leaseOf = (log: Partition) => ({ log, node: 'a', epoch: 1, grant: 'grant' });
  const sweeps = new PartitionSweeps({ store, queue: { enqueue: async () => {} }, clock, leaseOf, isLive: () => true });
  for (const partition of counts.keys()) sweeps.note(partition);
  await sweeps.sweep('c/life-1');
  assert.deepEqual(pauses, []);
  for (const partition of counts.keys()) sweeps.note(partition);
  await sweeps.sweep();
  assert.deepEqual(pauses, [4, 250, 250]);
});

test('a sweep finds at its time what comes due, is opened, is given back or loses its runner', async () => {
  const { seen, sweeps, until, begin } = sweptOften([
    row('late', 'started', NOW + 5_000, 'b/life-1'),
    row('retry', 'open', NOW + 5_500),
    row('kept', 'started', NOW + 60_000, 'b/life-1'),
  ]);
  await begin();
  await until(4_000);
  assert.deepEqual(seen.queued, ['retry'], 'before its time');
  await until(6_000);
  assert.deepEqual(seen.queued, ['retry', 'late']);

  const kept = row('kept', 'started', NOW + 70_000, 'b/life-1');
  seen.rows = [kept];
  await until(8_000);
  seen.rows = [kept, row('new', 'open', 0)];
  sweeps.note('default:1');
  await until(10_000);
  assert.deepEqual(seen.queued.slice(2), ['new']);

  seen.rows = [kept];
  await until(12_000);
  seen.rows = [kept, row('back', 'open', 0)];
  await until(22_000);
  assert.deepEqual(seen.queued.slice(3), ['back'], 'within ten seconds');

  seen.rows = [kept];
  await until(24_000);
  seen.live = false;
  await sweeps.sweep('b/life-1');
  assert.deepEqual(seen.queued.slice(4), ['kept']);
});
