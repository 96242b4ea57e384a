import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../runtime/clock.ts';
import { OneAtATime } from '../../runtime/kit/queues.ts';
import type { CatalogRecord } from '../store/record.ts';
import { byIds, entryOf, type SearchEntry, type Sources, tellingText } from './entry.ts';
import type { EntryVectors } from './entry-vectors.ts';
import { LexicalIndex } from './lexical-index.ts';

/** Records are read so many at a time, and entries made in smaller portions; in between others run. */
const PAGE = 1_000;

const PORTION = 100;

/** So often everything is compared, beside the changes that are noted: one that a crash cut short is noted late. */
const RECONCILE_MS = 300_000;

interface TenantIndexParts {
  readonly tenant: string;
  readonly sources: Sources;
  readonly clock: Clock;
  readonly maxEntries: number;
  /** Which of the tenant's are kept here. */
  readonly holds: (entry: SearchEntry) => boolean;
  readonly vectors: EntryVectors | null;
  readonly warn: (message: string, error: unknown) => void;
}

/** The agents or the workflows of one tenant, in memory: read at the first search, then kept in step with the catalog. */
export class TenantIndex {
  readonly words = new LexicalIndex();
  readonly vectors: EntryVectors | null;
  readonly #parts: TenantIndexParts;
  readonly #queue = new OneAtATime();
  readonly #steps = new SharedRuns(this.#queue, () => this.#step());
  /** How many changes of the catalog are in here; null: nothing was read yet. */
  #changes: number | null = null;
  #comparedAt = 0;
  #isFull = false;

  constructor(parts: TenantIndexParts) {
    this.#parts = parts;
    this.vectors = parts.vectors;
  }

  /** Brings in what was answered to others before this call. */
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
    // Only now: what failed is tried again by the next search.
    this.#changes = count;
    if (clock.monotonic() - this.#comparedAt < RECONCILE_MS) return;
    this.#comparedAt = clock.monotonic();
    this.#compare((work) => this.#queue.run(work)).catch((thrown: unknown) =>
      warn('the index of the catalog could not be compared with it', thrown),
    );
  }

  /** `run` keeps the parts from other work on the index: beside searches it is done a page at a time between them. */
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
      const manifestId = record.versions[0]?.manifest_id;
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
        // Replaced between the two reads: that change is noted too, and read next.
        const instruction = tellingText(textOf.get(manifestId) ?? '');
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

  /** `coming`: how many are about to be put in. */
  #hasRoom(id: string, coming: number): boolean {
    const { maxEntries, tenant, warn } = this.#parts;
    if (this.words.slotOf(id) !== undefined || this.words.size + coming < maxEntries) return true;
    if (!this.#isFull) warn(`search leaves out what tenant ${tenant} has beyond ${maxEntries}`, undefined);
    this.#isFull = true;
    return false;
  }
}

/** Indexes by key. Those that were used longest ago go when together they hold too much. */
export class TenantIndexes {
  readonly #indexes = new Map<string, TenantIndex>();
  readonly #maxEntries: number;

  /** `maxEntries`: of all indexes together; the one in use may be larger. */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get(key: string, open: () => TenantIndex): TenantIndex {
    const index = this.#indexes.get(key) ?? open();
    // A Map keeps the order in which keys came: this one is the newest now.
    this.#indexes.delete(key);
    this.#indexes.set(key, index);
    return index;
  }

  /** Call it when indexes may have grown. */
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

/**
 * The same work for all who ask for it: whoever asks gets a run that begins after the question, and shares it with
 * everybody else who waits for one.
 */
class SharedRuns {
  readonly #queue: OneAtATime;
  readonly #work: () => Promise<void>;
  #waiting: Promise<void> | null = null;

  constructor(queue: OneAtATime, work: () => Promise<void>) {
    this.#queue = queue;
    this.#work = work;
  }

  run(): Promise<void> {
    this.#waiting ??= this.#queue.run(() => {
      this.#waiting = null;
      return this.#work();
    });
    return this.#waiting;
  }
}
