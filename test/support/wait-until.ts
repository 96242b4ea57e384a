/**
 * Waits for a condition instead of a time. The time-out's error says what was waited for and what was last seen.
 */
export async function waitUntil<T>(
  what: string,
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  timeoutMs = 10_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms for: ${what}`);
    // A short pause between looks, not a synchronisation: the condition decides.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
