import { lstat, opendir } from 'node:fs/promises';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from './file-failure.ts';

export const quotaExceeded = (limitBytes: number): SvcError =>
  new SvcError('quota_exceeded', `the volume is full: it may hold ${limitBytes} bytes (ENOSPC)`);

interface Watched {
  readonly limit: number;
  readonly measure: () => Promise<number>;
  readonly over: () => void;
}

const EVERY_MS = 250;

/** Looking costs at most one part in this many of the time. */
const COST_SHARE = 20;

/** Looks again and again how much volumes hold while processes write to them that no file operation of ours can stop. */
export class QuotaWatch {
  readonly #clock: Clock;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #watched = new Set<Watched>();
  #looking = false;

  constructor(clock: Clock, warn: (message: string, error: unknown) => void) {
    this.#clock = clock;
    this.#warn = warn;
  }

  /** Calls `over` once when the measure is beyond the limit; the answer ends the watch. */
  add(watched: Watched): () => void {
    const entry = { ...watched };
    this.#watched.add(entry);
    if (!this.#looking) this.#schedule(EVERY_MS);
    return () => this.#watched.delete(entry);
  }

  #schedule(delayMs: number): void {
    this.#looking = true;
    this.#clock.after(delayMs, () => {
      this.#look().catch((error: unknown) => this.#warn('measuring volumes failed', error));
    });
  }

  async #look(): Promise<void> {
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
    else this.#looking = false;
  }
}

/**
 * Bytes of all files below a directory: the sum of their lengths, a file with several names once. Links are not
 * followed; what vanishes meanwhile does not count. `skip` leaves out entries by path below the directory.
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

/** Removed meanwhile, replaced by something else, or deeper than a path can be. */
const isGone = (thrown: unknown): boolean => ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(systemCode(thrown));
