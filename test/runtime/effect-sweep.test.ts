import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EffectRow } from '../../runtime/actor-store.ts';
import { type HandedOver, sweepEffects } from '../../runtime/dispatch/partition-sweeps.ts';
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
  // Someone died with jobs in its hands: each once more, for that occasion.
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
