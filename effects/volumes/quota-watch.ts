import { lstat, opendir } from 'node:fs/promises';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';

export const quotaExceeded = (limitBytes: number): SvcError =>
  new SvcError('quota_exceeded', `the volume is full: its limit is ${limitBytes} bytes (ENOSPC)`);

interface Watched {
  readonly limit: number;
  readonly measure: () => Promise<number>;
  readonly over: () => void;
}

const EVERY_MS = 250;

/** The watch uses at most 1 / `COST_SHARE` of the time. */
const COST_SHARE = 20;

/** Measures volumes periodically while processes write to them. */
export class QuotaWatch {
  readonly #clock: Clock;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #watched = new Set<Watched>();
  #isScheduled = false;

  constructor(clock: Clock, warn: (message: string, error: unknown) => void) {
    this.#clock = clock;
    this.#warn = warn;
  }

  /** Calls `over` once when the measured size exceeds the limit. Returns the function that ends the watch. */
  add(watched: Watched): () => void {
    const entry = { ...watched };
    this.#watched.add(entry);
    if (!this.#isScheduled) this.#schedule(EVERY_MS);
    return () => this.#watched.delete(entry);
  }

  #schedule(delayMs: number): void {
    this.#isScheduled = true;
    this.#clock.after(delayMs, () => {
      this.#check().catch((error: unknown) => this.#warn('measuring volumes failed', error));
    });
  }

  async #check(): Promise<void> {
    const startedAt = this.#clock.monotonic();
    for (const watched of this.#watched) {
      const bytes = await watched.measure().catch((error: unknown) => {
        this.#warn('a volume could not be measured', error);
        return 0;
      });
      if (bytes <= watched.limit || !this.#watched.delete(watched)) continue;
      watched.over();
    }
    const costMs = this.#clock.monotonic() - startedAt;
    if (this.#watched.size > 0) this.#schedule(Math.max(EVERY_MS, costMs * COST_SHARE));
    else this.#isScheduled = false;
  }
}

/**
 * Total length of all files below a directory; a file with several names counts once. Follows no links; files removed
 * meanwhile do not count. `skip` excludes entries by their path below the directory.
 */
export async function usedBytes(directory: string, skip?: (path: string) => boolean): Promise<number> {
  const seen = new Set<string>();
  const waiting = [''];
  let bytes = 0;
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for await (const entry of entriesOf(`${directory}${below}`)) {
      const path = `${below}/${entry.name}`;
      if (skip?.(path) === true) continue;
      if (entry.isDirectory()) waiting.push(path);
      else if (entry.isFile()) bytes += await lengthOf(`${directory}${path}`, seen);
    }
  }
  return bytes;
}

async function* entriesOf(directory: string) {
  try {
    for await (const entry of await opendir(directory)) yield entry;
  } catch (thrown) {
    if (!isGone(thrown)) throw thrown;
  }
}

async function lengthOf(path: string, seen: Set<string>): Promise<number> {
  try {
    const { size, nlink, dev, ino } = await lstat(path);
    if (nlink === 1) return size;
    const key = `${dev}:${ino}`;
    if (seen.has(key)) return 0;
    seen.add(key);
    return size;
  } catch (thrown) {
    if (isGone(thrown)) return 0;
    throw thrown;
  }
}

/** Removed or replaced meanwhile, or deeper than the longest path. */
const isGone = (thrown: unknown): boolean => ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(systemCode(thrown));
