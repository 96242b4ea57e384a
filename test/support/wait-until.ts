/** A look may be a request to a busy node: the longer the wait, the longer the pauses. */
const SHORTEST_MS = 5;
const LONGEST_MS = 150;
const PART_OF_WAIT = 0.1;
/** Beside other work a machine needs many times what it needs alone. Less than the 30 s after which a lost job is queued again. */
const MOST_MS = 25_000;

/**
 * Waits for a condition instead of a time. The time-out's error says what was waited for and what was last seen.
 */
export async function waitUntil<T>(
  what: string,
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  timeoutMs = MOST_MS,
): Promise<T> {
  const begun = performance.now();
  const deadline = begun + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    const now = performance.now();
    if (now > deadline) throw new Error(`waited ${timeoutMs} ms for: ${what}`);
    // A short pause between looks, not a synchronisation: the condition decides.
    const pauseMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (now - begun) * PART_OF_WAIT));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
