/** Time as a port, so that a simulation can run on virtual time (design K9). */
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
  after(delayMs, call) {
    // setTimeout fires at once beyond 2^31 ms; a later re-arm is the caller's business.
    const timer = setTimeout(call, Math.min(delayMs, 2_147_483_647));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
