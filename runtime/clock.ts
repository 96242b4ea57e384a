/**
 * Provides the time. It is a port so that a simulation can run on virtual time (K9).
 * Implemented by `systemClock` below, and by the clocks of tests and the simulation.
 */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Monotonic milliseconds with fractions, to measure durations. */
  monotonic(): number;
  /** Calls back once after `delayMs`. The returned function cancels it. The timer never keeps the process alive. */
  after(delayMs: number, call: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, call) => longTimer(delayMs, call, false),
};

/** Longest delay that a Node timer supports, 24.8 days. A longer one would fire at once. */
const LONGEST_MS = 2_147_483_647;

/**
 * `setTimeout` for a delay of any length, infinity included: the timer is started again as often as needed. Every delay
 * that comes from outside this program must use this function or `Clock.after`. With `keepsAlive` false, the timer does
 * not keep the process alive.
 */
export function longTimer(delayMs: number, call: () => void, keepsAlive = true): () => void {
  // Thousands of calls wait at once, each with timers: no more closures than needed.
  if (delayMs <= LONGEST_MS) return shortTimer(delayMs, call, keepsAlive);
  let leftMs = delayMs;
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const partMs = Math.min(leftMs, LONGEST_MS);
    leftMs -= partMs;
    timer = setTimeout(() => (leftMs > 0 ? arm() : call()), partMs);
    if (!keepsAlive) timer.unref();
  };
  arm();
  return () => clearTimeout(timer);
}

function shortTimer(delayMs: number, call: () => void, keepsAlive: boolean): () => void {
  const timer = setTimeout(call, delayMs);
  if (!keepsAlive) timer.unref();
  return () => clearTimeout(timer);
}
