import type { ActorStore, EffectRow } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { EffectQueue } from '../effect-queue.ts';
import { fairnessPart } from './flow.ts';

export type SweptStore = Pick<ActorStore, 'openEffects' | 'now'>;

/** When an effect was last handed to the queue (store time), and the row and token it was handed over for. */
export interface HandedOver {
  readonly until: number;
  readonly token: string | undefined;
  readonly at: number;
}

export interface SweepOptions {
  /** Also enqueue what will be due within this time: one sweep interval, so that nothing waits for the next one. */
  readonly aheadMs?: number;
  /** Whether a runner (`node/incarnation`) is known to live; what a dead one started is due at once. Default: all do. */
  readonly isLive?: (runner: string) => boolean;
  /** Somebody died who may have taken jobs without having claimed their effects: names the occasion (EffectQueue). */
  readonly token?: string | undefined;
  /** What earlier sweeps of this lease handed over, by effect id; brought up to date here. Default: nothing was. */
  readonly handed?: Map<string, HandedOver>;
}

const AHEAD_MS = 2_000;
const AT_ONCE = 64;
/** A job that has waited so long in the queue may be lost there, so it is handed over again. */
const AGAIN_MS = 30_000;
/** Of many that are due to be handed over again a sweep takes one part, so that the queue gets them evenly spread. */
const AGAIN_PARTS = 15;
const LEAST_AGAIN = 8;

interface HandOver {
  readonly row: EffectRow;
  readonly delayMs: number;
  readonly token: string | undefined;
  /** When the same was handed over before. */
  readonly lastAt: number | undefined;
}

/**
 * Puts the effects of a partition that should be running back into the queue (design E1: a lost job is never the
 * truth, the record is). Called by the partition's holder after it got the lease, when a node died, and every two
 * seconds. Enqueueing what is queued changes nothing, but it is work for the queue: what `handed` says was handed over
 * is only handed over again for another row or token, or after 30 to 60 s. Answers how many were handed to the queue.
 */
export async function sweepEffects(
  store: SweptStore,
  queue: Pick<EffectQueue, 'enqueue'>,
  partition: Partition,
  options: SweepOptions = {},
): Promise<number> {
  const handed = options.handed ?? new Map<string, HandedOver>();
  const rows = await store.openEffects(partition);
  forgetEnded(handed, rows);
  if (rows.length === 0) return 0;
  const now = await store.now();
  const going = handOvers(rows, now, options, handed);
  for (let at = 0; at < going.length; at += AT_ONCE) {
    await Promise.all(
      going.slice(at, at + AT_ONCE).map(async ({ row, delayMs, token }) => {
        const { id, address, queue: name, until, fairnessKey } = row;
        const job = { id, partition, address, queue: name, ...fairnessPart(fairnessKey) };
        await queue.enqueue(job, delayMs, token);
        handed.set(id, { until, token, at: now });
      }),
    );
  }
  return going.length;
}

function forgetEnded(handed: Map<string, HandedOver>, rows: readonly EffectRow[]): void {
  if (handed.size === 0) return;
  const open = new Set(rows.map(({ id }) => id));
  for (const id of handed.keys()) if (!open.has(id)) handed.delete(id);
}

function handOvers(
  rows: readonly EffectRow[],
  now: number,
  { aheadMs = AHEAD_MS, isLive = () => true, token }: SweepOptions,
  handed: ReadonlyMap<string, HandedOver>,
): HandOver[] {
  const first: HandOver[] = [];
  const again: HandOver[] = [];
  for (const row of rows) {
    const { id, status, until } = row;
    const dead = tokenOfDead(row, now, isLive);
    if (dead === undefined && (status === 'started' || until > now + aheadMs)) continue;
    const known = handed.get(id);
    const due = { row, delayMs: status === 'open' ? Math.max(0, until - now) : 0, token: dead ?? token };
    const isSame = known?.until === until && (due.token === undefined || due.token === known.token);
    if (!isSame) first.push({ ...due, lastAt: undefined });
    // A store whose clock went back says nothing about how long it has been.
    else if (now - known.at >= AGAIN_MS || now < known.at) again.push({ ...due, lastAt: known.at });
  }
  again.sort((one, other) => (one.lastAt ?? 0) - (other.lastAt ?? 0));
  return [...first, ...again.slice(0, Math.max(LEAST_AGAIN, Math.ceil(rows.length / AGAIN_PARTS)))];
}

/** The life that started the effect and is gone, or let its claim run out: the job it took is stuck (EffectQueue). */
function tokenOfDead(row: EffectRow, now: number, isLive: (runner: string) => boolean): string | undefined {
  const { status, runner, until } = row;
  if (status !== 'started' || (until > now && isLive(runner))) return undefined;
  return runner.slice(runner.lastIndexOf('/') + 1);
}
