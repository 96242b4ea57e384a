import { setTimeout as pause } from 'node:timers/promises';
import type { NodeProcess } from '../support/node-process.ts';
import type { SeededRandom } from './random.ts';
import type { RecoveryTimes } from './recovery.ts';

const STARTUP_SHARE = 0.25;
const STARTUP_MS = 300;
/** Upper limit of most lives. */
export const USUAL_LIFE_MS = 600;
/** Some lives are longer, so that the longest work can end in one of them. */
const LONG_SHARE = 0.25;
const LONG_MS = 1_500;
/** Every third kill, from the first one on, waits for an event, at most this long. */
const STREAM_EVERY = 3;
const STREAM_MS = 5_000;
const SETTLE_MS = 60_000;
const KILL_MS = 20_000;

interface KillingParts {
  readonly random: SeededRandom;
  readonly recovery: RecoveryTimes;
  /** Ids of the executions that run now. */
  readonly running: ReadonlySet<string>;
  /** Resolves when a stream that continues has its next event. Some kills follow at once, to interrupt streams. */
  readonly nextEvent?: () => Promise<void>;
  /** Ends the kills; aborted when a run hangs after the last kill. */
  readonly abort: AbortController;
}

interface KillPlan {
  readonly kills: number;
  /** Factor by which lives are longer than usual; 1 by default. */
  readonly longer?: number;
  /** A run hangs when it has not ended this long after the last kill; a minute by default. */
  readonly settleMs?: number;
}

/**
 * Sends kill -9 at random moments, and starts the node again after each. Returns the number of kills during a start.
 */
export async function killRepeatedly(
  node: NodeProcess,
  { kills, longer = 1, settleMs = SETTLE_MS }: KillPlan,
  { random, recovery, running, nextEvent, abort }: KillingParts,
): Promise<number> {
  let inStartup = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    const hitsStream = nextEvent !== undefined && kill % STREAM_EVERY === 0;
    const early = !hitsStream && random.chance(STARTUP_SHARE);
    const longest = random.chance(LONG_SHARE) ? LONG_MS : USUAL_LIFE_MS;
    const afterMs = random.between(0, early ? STARTUP_MS : longest * longer);
    if (!early) await node.url;
    if (hitsStream) {
      await Promise.race([nextEvent(), pause(STREAM_MS, undefined, { signal: abort.signal })]);
    } else await pause(afterMs, undefined, { signal: abort.signal });
    if (node.crashed) throw new Error('the node ended by itself');
    if (early) inStartup += 1;
    await within(KILL_MS, 'the kill', node.kill());
    recovery.killed(Date.now(), running);
    node.spawn();
    // Rejects when the next kill comes first.
    node.url.then(() => recovery.up(Date.now())).catch(() => {});
  }
  const settle = setTimeout(() => {
    abort.abort(new Error(`${running.size} executions did not end: ${[...running].join(', ')}`));
  }, settleMs);
  settle.unref();
  return inStartup;
}

async function within<T>(limitMs: number, what: string, work: Promise<T>): Promise<T> {
  const late = AbortSignal.timeout(limitMs);
  const overdue = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(new Error(`${what} took longer than ${limitMs} ms`)));
  });
  return Promise.race([work, overdue]);
}
