import type { Random } from '../../runtime/random.ts';

/** Longest pause between two tries, unless the provider asks for more. */
const MAX_BACKOFF_MS = 30_000;
/** A provider that asks for more than this is taken to mean this. */
const MAX_RETRY_AFTER_MS = 600_000;

/** Pause after the n-th failed try: doubles, half of it random so that a fleet does not come back as one. */
export function backoffMs(
  baseMs: number,
  failedTries: number,
  retryAfterMs: number | undefined,
  random: Random,
): number {
  const full = Math.min(baseMs * 2 ** (failedTries - 1), MAX_BACKOFF_MS);
  const jittered = full * (0.5 + random.fraction() / 2);
  return Math.ceil(Math.max(jittered, retryAfterMs ?? 0));
}

/** Reads `retry-after-ms`, else `Retry-After` as seconds or as an HTTP date. */
export function retryAfterMs(headers: Readonly<Record<string, string>> | undefined, nowMs: number): number | undefined {
  const precise = Number.parseFloat(headers?.['retry-after-ms'] ?? '');
  if (Number.isFinite(precise)) return bounded(precise);
  const plain = headers?.['retry-after']?.trim();
  if (plain === undefined || plain === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(plain)) return bounded(Number(plain) * 1_000);
  const date = Date.parse(plain);
  return Number.isNaN(date) ? undefined : bounded(date - nowMs);
}

const bounded = (ms: number): number => Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
