/** A check may be a request to a busy node, so the pauses grow with the wait. */
const SHORTEST_MS = 5;
const LONGEST_MS = 150;
const PART_OF_WAIT = 0.25;
/** Enough for a machine with other work; less than the 30 s after which a lost job is queued again. */
const MOST_MS = 25_000;

/**
 * Waits for a condition instead of a time. The error of the time-out names the condition and the last value.
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
    // A pause between two checks; the condition decides.
    const pauseMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (now - begun) * PART_OF_WAIT));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
