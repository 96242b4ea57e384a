import type { KeyPage } from './key-pages.ts';
import type { KeyRun, KeyRunWriter } from './key-run.ts';
import type { KeyRuns } from './key-runs.ts';

/** A number that stands for a removed segment. */
export const GONE = 0xffffffff;

/** Reads the keys of a run, page by page. */
export class RunCursor {
  readonly #keys: Pick<KeyRuns, 'keyPage'>;
  readonly #run: KeyRun;
  readonly #numbers: Uint32Array;
  #page: KeyPage = { hashes: new Float64Array(0), ordinals: new Uint32Array(0) };
  #pages = 0;
  #at = 0;

  /** `numbers`: the new number of each segment of the run, or `GONE`. */
  constructor(keys: Pick<KeyRuns, 'keyPage'>, run: KeyRun, numbers: Uint32Array) {
    this.#keys = keys;
    this.#run = run;
    this.#numbers = numbers;
  }

  /** Loads the next page. False: the run has ended. */
  async load(): Promise<boolean> {
    while (this.#pages < this.#run.parts.fences.length) {
      const page = await this.#keys.keyPage(this.#run, this.#pages);
      if (page === null) return false;
      this.#pages += 1;
      [this.#page, this.#at] = [page, 0];
      if (page.hashes.length > 0) return true;
    }
    return false;
  }

  /** Keys of the page that were not taken. */
  get left(): number {
    return this.#page.hashes.length - this.#at;
  }

  /** The largest hash of the page. */
  get lastHash(): number {
    return this.#page.hashes.at(-1) ?? 0;
  }

  /** Takes the keys up to `hash` whose segments exist. Returns where they end in `to`. */
  takeUpTo(hash: number, to: Keys, from: number): number {
    const { hashes, ordinals } = this.#page;
    const numbers = this.#numbers;
    let end = from;
    let at = this.#at;
    for (; at < hashes.length; at += 1) {
      const one = hashes[at] ?? 0;
      if (one > hash) break;
      const number = numbers[ordinals[at] ?? 0] ?? GONE;
      if (number === GONE) continue;
      to.hashes[end] = one;
      to.numbers[end] = number;
      end += 1;
    }
    this.#at = at;
    return end;
  }
}

interface Keys {
  readonly hashes: Float64Array;
  readonly numbers: Uint32Array;
}

const keysOf = (count: number): Keys => ({ hashes: new Float64Array(count), numbers: new Uint32Array(count) });

/**
 * Merges pages of several runs: the keys up to the end of the page that ends first, which takes less than a millisecond.
 * The parts of the runs are merged two by two, so that a key is compared three times with eight runs.
 */
export class KeyMerger {
  #from = keysOf(0);
  #to = keysOf(0);

  /** Merges until a page has ended. Returns the runs whose pages have. */
  mergeInto(writer: Pick<KeyRunWriter, 'addKey'>, cursors: readonly RunCursor[]): readonly RunCursor[] {
    let [least, most] = [Number.POSITIVE_INFINITY, 0];
    for (const cursor of cursors) {
      least = Math.min(least, cursor.lastHash);
      most += cursor.left;
    }
    if (this.#from.hashes.length < most) [this.#from, this.#to] = [keysOf(most), keysOf(most)];
    let ends: number[] = [];
    for (const cursor of cursors) ends.push(cursor.takeUpTo(least, this.#from, ends.at(-1) ?? 0));
    while (ends.length > 1) {
      const merged: number[] = [];
      for (let at = 0; at < ends.length; at += 2) {
        const [from, middle] = [ends[at - 1] ?? 0, ends[at] ?? 0];
        const end = ends[at + 1] ?? middle;
        mergeTwo(this.#from, this.#to, from, middle, end);
        merged.push(end);
      }
      [this.#from, this.#to, ends] = [this.#to, this.#from, merged];
    }
    const { hashes, numbers } = this.#from;
    const end = ends[0] ?? 0;
    for (let at = 0; at < end; at += 1) writer.addKey(hashes[at] ?? 0, numbers[at] ?? 0);
    return cursors.filter(({ left }) => left === 0);
  }
}

/** Merges two neighbouring sorted parts. Of equal hashes those of the first part come first: its segments have lower numbers. */
function mergeTwo(source: Keys, target: Keys, from: number, middle: number, end: number): void {
  const [hashes, numbers, toHashes, toNumbers] = [source.hashes, source.numbers, target.hashes, target.numbers];
  let [one, other] = [from, middle];
  for (let at = from; at < end; at += 1) {
    const isFirst = other >= end || (one < middle && (hashes[one] ?? 0) <= (hashes[other] ?? 0));
    const taken = isFirst ? one : other;
    toHashes[at] = hashes[taken] ?? 0;
    toNumbers[at] = numbers[taken] ?? 0;
    if (isFirst) one += 1;
    else other += 1;
  }
}
