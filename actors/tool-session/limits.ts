/** What one session may cost. Each is far beyond what an agent that works needs. */
export const SESSION_LIMITS = {
  /**
   * Calls that are decided about, allowed or not; then further ones are refused by name. Each is remembered in the state,
   * some 150 bytes that every later turn writes again: what a session costs grows with the square of this.
   */
  calls: 2_000,
  /** Calls at once. */
  running: 64,
  /** Refused envelopes that are recorded; then one more record says that no further one is. */
  refusals: 10_000,
  /** Repeats that are recorded; further ones are answered all the same. */
  replays: 10_000,
} as const;
