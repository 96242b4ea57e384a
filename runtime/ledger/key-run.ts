import type { Collection, StoredDocument } from '../documents.ts';
import { SYSTEM_TENANT } from '../identity.ts';
import { HASH_BITS } from './key-hash.ts';
import { encodeNames, KeyPages, NAMES, type SegmentRef } from './key-pages.ts';
import { KeySorter } from './key-sort.ts';

/**
 * A run: sorted keys of the segments of one or more rounds (decision 0037). Keys of all tenants share runs, because a
 * round writes one run; a key's hash contains its tenant, and a segment is read with the tenant of the caller only.
 */
export interface KeyRun extends StoredDocument {
  /** Node that wrote it, and that merges it. */
  readonly node: string;
  /** 0 for the run of a round; a run merged from runs of a level is of the next one. */
  readonly level: number;
  /** `open`: its pages are being written. Readers use `live` ones only. */
  readonly state: 'open' | 'live';
  /** Unix ms of the write on the node's clock; of an open run, when it was begun. */
  readonly written_at: number;
  /** Unix ms of its oldest and newest delivery. */
  readonly from_at: number;
  readonly to_at: number;
  /** Its newest round. */
  readonly last_round: number;
  readonly keys: number;
  readonly segments: number;
  readonly parts: {
    /** First hash of each page of keys. */
    readonly fences: readonly number[];
    /** Pages of a small run, which needs no documents of pages. */
    readonly keyPage?: string;
    readonly namePage?: string;
    /** Runs that this one was merged from. Readers skip them, and they are deleted soon. */
    readonly replaces: readonly string[];
  };
}

/** A page of keys or of names of segments. */
export interface KeyRunPage extends StoredDocument {
  readonly run: string;
  /** In an object, so that no store takes it for a field to search. */
  readonly page: { readonly text: string };
}

export const KEY_RUNS = { name: 'ledger_key_runs', unique: [], indexes: [['node']] } as const;
export const KEY_PAGES = { name: 'ledger_key_pages', unique: [], indexes: [['run']] } as const;

export interface KeyCollections {
  readonly runs: Collection<KeyRun>;
  readonly pages: Collection<KeyRunPage>;
}

export const keyPageId = (run: string, page: number): string => `${run}.k${page}`;
export const namePageId = (run: string, page: number): string => `${run}.n${page}`;

/** Pages that are written together. */
const PAGES_AT_ONCE = 64;

/** Writes one run: first the names of its segments in the order of their numbers, then its keys in their order. */
export class KeyRunWriter {
  readonly #to: KeyCollections;
  readonly #head: Pick<KeyRun, 'id' | 'node' | 'level'>;
  readonly #begunAt: number;
  readonly #keys = new KeyPages();
  #names: SegmentRef[] = [];
  #segments = 0;
  #namePages: string[] = [];
  #pages = { keys: 0, names: 0 };
  #from = Number.POSITIVE_INFINITY;
  #until = 0;
  #lastRound = 0;
  #isOpen = false;

  constructor(to: KeyCollections, head: Pick<KeyRun, 'id' | 'node' | 'level'>, now: number) {
    this.#to = to;
    this.#head = head;
    this.#begunAt = now;
  }

  /** Adds a segment and returns its number in this run. */
  async addSegment(segment: SegmentRef): Promise<number> {
    if (this.#names.length === NAMES) {
      this.#namePages.push(await encodeNames(this.#names));
      this.#names = [];
      if (this.#namePages.length >= PAGES_AT_ONCE) await this.flush();
    }
    this.#names.push(segment);
    this.#from = Math.min(this.#from, segment.from);
    this.#until = Math.max(this.#until, segment.to);
    this.#lastRound = Math.max(this.#lastRound, segment.round);
    this.#segments += 1;
    return this.#segments - 1;
  }

  addKey(hash: number, ordinal: number): void {
    this.#keys.add(hash, ordinal);
  }

  /** Adds all keys of the run, encoded. */
  addPages(pages: RoundRun['keys']): void {
    this.#keys.take(pages);
  }

  /** Whether pages wait to be written with `flush`. */
  get isFull(): boolean {
    return this.#keys.full.length >= PAGES_AT_ONCE;
  }

  async flush(): Promise<void> {
    if (!this.#isOpen) {
      this.#isOpen = true;
      await this.#to.runs.put(this.#document('open', this.#begunAt, []));
    }
    const [keys, names] = [this.#keys.full, this.#namePages];
    [this.#keys.full, this.#namePages] = [[], []];
    const documents = [
      ...keys.map((text) => this.#page(keyPageId(this.#head.id, this.#pages.keys++), text)),
      ...names.map((text) => this.#page(namePageId(this.#head.id, this.#pages.names++), text)),
    ];
    for (let at = 0; at < documents.length; at += PAGES_AT_ONCE)
      await this.#to.pages.putMany(documents.slice(at, at + PAGES_AT_ONCE));
  }

  /** Completes the run and returns it. Null when it has no segment. */
  async finish(now: number, replaces: readonly string[]): Promise<KeyRun | null> {
    if (this.#segments === 0) return null;
    this.#keys.finish();
    this.#namePages.push(await encodeNames(this.#names));
    const [keyPage, ...moreKeys] = this.#keys.full;
    const [namePage, ...moreNames] = this.#namePages;
    const isSmall = !this.#isOpen && moreKeys.length + moreNames.length === 0;
    if (!isSmall) await this.flush();
    const head = this.#document('live', now, replaces, isSmall ? { keyPage, namePage } : {});
    await this.#to.runs.put(head);
    return head;
  }

  #page(id: string, text: string): KeyRunPage {
    return { tenant: SYSTEM_TENANT, id, version: 1, run: this.#head.id, page: { text } };
  }

  #document(
    state: KeyRun['state'],
    now: number,
    replaces: readonly string[],
    inside: Pick<KeyRun['parts'], 'keyPage' | 'namePage'> = {},
  ): KeyRun {
    return {
      ...this.#head,
      tenant: SYSTEM_TENANT,
      version: state === 'open' ? 1 : 2,
      state,
      written_at: now,
      from_at: state === 'open' ? 0 : this.#from,
      to_at: this.#until,
      last_round: this.#lastRound,
      keys: this.#keys.count,
      segments: this.#segments,
      parts: { fences: state === 'open' ? [] : this.#keys.fences, ...inside, replaces },
    };
  }
}

/** Segments of a round's run: their numbers share a double with the hash while the keys are sorted. */
const ORDINALS = 8_192;
const KEY_BITS = HASH_BITS + Math.log2(ORDINALS);
const LAST_KEYS = 4_096;
/** When a run has more, it is written. What is added before the next look has fewer segments than the difference. */
const MOST_SEGMENTS = 5_000;
const MOST_KEYS = 200_000;

/** Collects the keys of a round. */
export class RoundKeys {
  readonly #writer: string;
  readonly #round: number;
  readonly #sorter: KeySorter;
  /** The keys of a segment that were added last, by some bits of their hashes. */
  readonly #last: Float64Array;
  #segments: SegmentRef[] = [];
  #begun = 0;
  /** Hash and number of a segment as one number, in the order in which they came. */
  #values: Float64Array;
  #count = 0;

  /** `earlier`: the keys of a round that has ended, whose memory is used again. */
  constructor(writer: string, round: number, earlier?: RoundKeys) {
    this.#writer = writer;
    this.#round = round;
    this.#sorter = earlier === undefined ? new KeySorter() : earlier.#sorter;
    this.#last = (earlier === undefined ? new Float64Array(LAST_KEYS) : earlier.#last).fill(-1);
    this.#values = earlier === undefined ? new Float64Array(4_096) : earlier.#values;
  }

  /** Begins a segment and returns its number. */
  begin(): number {
    this.#begun += 1;
    return this.#begun - 1;
  }

  /** Names a segment that is complete. */
  name(ordinal: number, segment: Omit<SegmentRef, 'writer' | 'round'>): void {
    this.#segments[ordinal] = { ...segment, writer: this.#writer, round: this.#round };
  }

  add(ordinal: number, hash: number): void {
    if (this.#count === this.#values.length) {
      const grown = new Float64Array(2 * this.#values.length);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#count] = hash * ORDINALS + ordinal;
    this.#count += 1;
  }

  /** Adds a key that a segment may get often, such as that of an actor: most repetitions are dropped here. */
  addOften(ordinal: number, hash: number): void {
    const value = hash * ORDINALS + ordinal;
    const slot = hash & (LAST_KEYS - 1);
    if (this.#last[slot] === value) return;
    this.#last[slot] = value;
    this.add(ordinal, hash);
  }

  get isFull(): boolean {
    return this.#begun >= MOST_SEGMENTS || this.#count >= MOST_KEYS;
  }

  get isEmpty(): boolean {
    return this.#begun === 0;
  }

  /** Takes all segments, which are complete, with their keys. */
  take(): RoundRun {
    const [segments, count] = [this.#segments, this.#count];
    const values = this.#sorter.sort(this.#values, count, KEY_BITS);
    [this.#segments, this.#begun, this.#count] = [[], 0, 0];
    const pages = new KeyPages();
    let before = -1;
    for (let at = 0; at < count; at += 1) {
      const value = values[at] ?? 0;
      if (value === before) continue;
      before = value;
      const hash = Math.floor(value / ORDINALS);
      pages.add(hash, value - hash * ORDINALS);
    }
    pages.finish();
    return { segments, keys: { full: pages.full, fences: pages.fences, count: pages.count } };
  }
}

/** The keys of a round, encoded, and its segments in the order of their numbers. */
export interface RoundRun {
  readonly segments: readonly SegmentRef[];
  readonly keys: Pick<KeyPages, 'full' | 'fences' | 'count'>;
}
