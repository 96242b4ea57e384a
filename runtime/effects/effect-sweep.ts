import type { ActorStore, EffectRow } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { EffectQueue } from '../effect-queue.ts';

export type SweptStore = Pick<ActorStore, 'openEffects' | 'now'>;

export interface SweepOptions {
  /** Also enqueue what will be due within this time: one sweep interval, so that nothing waits for the next one. */
  readonly aheadMs?: number;
  /** Just acquired: effects with a live claim too, since a claim of this node's earlier life counts as expired. */
  readonly acquired?: boolean;
  /** The lease's grant, with `acquired`: what workers of the last holder took is not waited for (EffectQueue). */
  readonly grant?: string;
}

const AHEAD_MS = 2_000;
const AT_ONCE = 64;

/**
 * Puts the effects of a partition that should be running back into the queue (design E1: a lost job is never the
 * truth, the record is). Called by the partition's holder after it got the lease, and every two seconds. Enqueueing
 * what is queued changes nothing, so a sweep too many is harmless. Answers how many were handed to the queue.
 */
export async function sweepEffects(
  store: SweptStore,
  queue: Pick<EffectQueue, 'enqueue'>,
  partition: Partition,
  options: SweepOptions = {},
): Promise<number> {
  const rows = await store.openEffects(partition);
  if (rows.length === 0) return 0;
  const now = await store.now();
  const due = rows.filter((row) => isDue(row, now, options));
  for (let at = 0; at < due.length; at += AT_ONCE) {
    await Promise.all(
      due.slice(at, at + AT_ONCE).map(({ id, address, queue: name, status, until }) => {
        const delayMs = status === 'open' ? Math.max(0, until - now) : 0;
        return queue.enqueue({ id, partition, address, queue: name }, delayMs, options.grant);
      }),
    );
  }
  return due.length;
}

function isDue(row: EffectRow, now: number, { aheadMs = AHEAD_MS, acquired = false }: SweepOptions): boolean {
  if (row.status === 'open') return row.until <= now + aheadMs;
  return acquired || row.until <= now;
}
