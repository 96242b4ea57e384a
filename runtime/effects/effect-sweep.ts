import type { ActorStore, EffectRow } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { EffectQueue } from '../effect-queue.ts';

export type SweptStore = Pick<ActorStore, 'openEffects' | 'now'>;

export interface SweepOptions {
  /** Also enqueue what will be due within this time: one sweep interval, so that nothing waits for the next one. */
  readonly aheadMs?: number;
  /** Whether a runner (`node/incarnation`) is known to live; what a dead one started is due at once. Default: all do. */
  readonly isLive?: (runner: string) => boolean;
  /** Somebody died who may have taken jobs without having claimed their effects: names the occasion (EffectQueue). */
  readonly token?: string | undefined;
}

const AHEAD_MS = 2_000;
const AT_ONCE = 64;

/**
 * Puts the effects of a partition that should be running back into the queue (design E1: a lost job is never the
 * truth, the record is). Called by the partition's holder after it got the lease, when a node died, and every two
 * seconds. Enqueueing what is queued changes nothing, so a sweep too many is harmless. Answers how many were handed to
 * the queue.
 */
export async function sweepEffects(
  store: SweptStore,
  queue: Pick<EffectQueue, 'enqueue'>,
  partition: Partition,
  options: SweepOptions = {},
): Promise<number> {
  const rows = await store.openEffects(partition);
  if (rows.length === 0) return 0;
  const { aheadMs = AHEAD_MS, isLive = () => true } = options;
  const now = await store.now();
  let handed = 0;
  for (let at = 0; at < rows.length; at += AT_ONCE) {
    await Promise.all(
      rows.slice(at, at + AT_ONCE).map(async (row) => {
        const { id, address, queue: name, status, until } = row;
        const dead = tokenOfDead(row, now, isLive);
        if (dead === undefined && (status === 'started' || until > now + aheadMs)) return;
        handed += 1;
        const delayMs = status === 'open' ? Math.max(0, until - now) : 0;
        await queue.enqueue({ id, partition, address, queue: name }, delayMs, dead ?? options.token);
      }),
    );
  }
  return handed;
}

/** The life that started the effect and is gone, or let its claim run out: the job it took is stuck (EffectQueue). */
function tokenOfDead(row: EffectRow, now: number, isLive: (runner: string) => boolean): string | undefined {
  const { status, runner, until } = row;
  if (status !== 'started' || (until > now && isLive(runner))) return undefined;
  return runner.slice(runner.lastIndexOf('/') + 1);
}
