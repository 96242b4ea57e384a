import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../runtime/clock.ts';
import { OneAtATime, SharedRuns } from '../../runtime/kit/queues.ts';
import { wordsOfManifest } from '../manifest-reading.ts';
import { type CatalogRecord, latestOf } from '../store/record.ts';
import { byIds, entryOf, type SearchEntry, type Sources } from './entry.ts';
import type { EntryVectors } from './entry-vectors.ts';
import { LexicalIndex } from './lexical-index.ts';

/** Number of records in one read. Entries are made in smaller portions, so that other work runs in between. */
const PAGE = 1_000;

const PORTION = 100;

/** Interval at which everything is compared, in addition to the noted changes. A crash can delay the note of a change. */
const RECONCILE_MS = 300_000;

interface TenantIndexParts {
  readonly tenant: string;
  readonly sources: Sources;
  readonly clock: Clock;
  readonly maxEntries: number;
  /** Selects the tenant's entries that this index contains. */
  readonly holds: (entry: SearchEntry) => boolean;
  readonly vectors: EntryVectors | null;
  readonly warn: (message: string, error: unknown) => void;
}

/** In-memory index of the agents or workflows of one tenant. It is read at the first search, then follows the catalog. */
export class TenantIndex {
  readonly words = new LexicalIndex();
  readonly vectors: EntryVectors | null;
  readonly #parts: TenantIndexParts;
  readonly #queue = new OneAtATime();
  readonly #steps = new SharedRuns(() => this.#step(), this.#queue);
  /** Number of the catalog's changes that the index includes; null before the first read. */
  #changes: number | null = null;
  #comparedAt = 0;
  #isFull = false;

  constructor(parts: TenantIndexParts) {
    this.#parts = parts;
    this.vectors = parts.vectors;
  }

  /** Adds all changes that were answered before this call. */
  async refresh(): Promise<void> {
    await this.#steps.run();
    await this.vectors?.fill();
  }

  async #step(): Promise<void> {
    const { clock, sources, tenant, warn } = this.#parts;
    const { count, ids } = await sources.changes.since(tenant, this.#changes ?? 0);
    if (this.#changes === null) {
      this.#comparedAt = clock.monotonic();
      await this.#readAll((page) => this.#take(page));
    } else if (ids === null) {
      this.#comparedAt = clock.monotonic();
      await this.#compare((work) => work());
    } else {
      await this.#takeIds([...new Set(ids)]);
    }
    // Set last, so that the next search repeats what failed.
    this.#changes = count;
    if (clock.monotonic() - this.#comparedAt < RECONCILE_MS) return;
    this.#comparedAt = clock.monotonic();
    this.#compare((work) => this.#queue.run(work)).catch((thrown: unknown) =>
      warn('a search index could not be compared with the catalog; the next search tries again', thrown),
    );
  }

  /**
   * Compares the index with the catalog. `run` executes each part exclusively; in the background that is one page at a time,
   * between searches.
   */
  async #compare(run: (work: () => Promise<void>) => Promise<void>): Promise<void> {
    const unseen = new Set(this.words.ids());
    await this.#readAll((page) =>
      run(async () => {
        for (const { id } of page) unseen.delete(id);
        await this.#take(page.filter((record) => this.#knownVersion(record.id) !== record.version));
      }),
    );
    const ids = [...unseen];
    for (let from = 0; from < ids.length; from += PORTION)
      await run(() => this.#takeIds(ids.slice(from, from + PORTION)));
  }

  #knownVersion(id: string): number | undefined {
    const slot = this.words.slotOf(id);
    return slot === undefined ? undefined : this.words.at(slot)?.recordVersion;
  }

  async #readAll(take: (page: readonly CatalogRecord[]) => Promise<void>): Promise<void> {
    const { sources, tenant } = this.#parts;
    for (let after = ''; ; ) {
      const page = await sources.records.find({
        tenant,
        where: { id: { gt: after } },
        sort: [['id', 'asc']],
        limit: PAGE,
      });
      await take(page);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.id;
      await setImmediate();
    }
  }

  async #takeIds(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const { sources, tenant } = this.#parts;
    const found = await byIds(sources.records, tenant, ids);
    const there = new Set(found.map(({ id }) => id));
    for (const id of ids) if (!there.has(id)) this.#drop(id);
    await this.#take(found);
  }

  async #take(records: readonly CatalogRecord[]): Promise<void> {
    const { holds } = this.#parts;
    const wanted: { entry: SearchEntry; manifestId: string }[] = [];
    for (const record of records) {
      const entry = entryOf(record);
      const manifestId = latestOf(record.versions)?.manifest_id;
      if (entry === null || manifestId === undefined || !holds(entry)) this.#drop(record.id);
      else if (this.#hasRoom(entry.id, wanted.length)) wanted.push({ entry, manifestId });
    }
    if (wanted.length > 0) await this.#put(wanted);
    await this.vectors?.load();
  }

  async #put(wanted: readonly { readonly entry: SearchEntry; readonly manifestId: string }[]): Promise<void> {
    const { sources, tenant } = this.#parts;
    for (let from = 0; from < wanted.length; from += PORTION) {
      const some = wanted.slice(from, from + PORTION);
      const ids = some.map(({ manifestId }) => manifestId);
      const texts = await byIds(sources.manifests, tenant, ids);
      const textOf = new Map(texts.map(({ id, manifest_yaml }) => [id, manifest_yaml]));
      for (const { entry, manifestId } of some) {
        // The manifest was replaced between the two reads; that change is noted too and read next.
        const instruction = await wordsOfManifest(textOf.get(manifestId) ?? '');
        this.words.put(entry, instruction);
        this.vectors?.want(entry, instruction);
      }
      await setImmediate();
    }
  }

  #drop(id: string): void {
    this.words.remove(id);
    this.vectors?.forget(id);
  }

  /** `coming`: number of entries that are about to be added. */
  #hasRoom(id: string, coming: number): boolean {
    const { maxEntries, tenant, warn } = this.#parts;
    if (this.words.slotOf(id) !== undefined || this.words.size + coming < maxEntries) return true;
    if (!this.#isFull)
      warn(
        `search omits entries of tenant ${tenant}: it has more than ${maxEntries} (spec.cortex.search.max_entries)`,
        undefined,
      );
    this.#isFull = true;
    return false;
  }
}

/** Indexes by key. When they exceed the maximum together, the least recently used are dropped. */
export class TenantIndexes {
  readonly #indexes = new Map<string, TenantIndex>();
  readonly #maxEntries: number;

  /** `maxEntries`: of all indexes together; the one in use may exceed it. */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get(key: string, open: () => TenantIndex): TenantIndex {
    const index = this.#indexes.get(key) ?? open();
    // A Map keeps insertion order, so this moves the key to the end.
    this.#indexes.delete(key);
    this.#indexes.set(key, index);
    return index;
  }

  /** Call it after indexes may have grown. */
  trim(): void {
    let entries = 0;
    for (const { words } of this.#indexes.values()) entries += 1 + words.size;
    for (const [key, { words }] of this.#indexes) {
      if (entries <= this.#maxEntries || this.#indexes.size === 1) return;
      this.#indexes.delete(key);
      entries -= 1 + words.size;
    }
  }
}
