/**
 * Time as a port, so that a simulation can run on virtual time (K9).
 * Implemented by `systemClock` below, and by the clocks of tests and the simulation.
 */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Monotonic milliseconds with fractions, for durations. */
  monotonic(): number;
  /** Calls back once after `delayMs`; the answer cancels it. The timer never keeps the process alive. */
  after(delayMs: number, call: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, call) => longTimer(delayMs, call, false),
};

/** As far as a timer of Node goes, 24.8 days; beyond it fires at once. */
const LONGEST_MS = 2_147_483_647;

/**
 * `setTimeout` for a delay of any length, infinity too: it is armed again as often as it takes. Every time that somebody
 * outside names goes through here or through `Clock.after`. `keepsAlive` false: the process need not wait for it.
 */
export function longTimer(delayMs: number, call: () => void, keepsAlive = true): () => void {
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
