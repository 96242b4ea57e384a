import type { Clock } from '../clock.ts';
import { positionOf } from '../documents/document-query.ts';
import type { Documents } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { SYSTEM_TENANT } from '../identity.ts';
import { BoundedCache } from '../kit/bounded-cache.ts';
import { SharedRuns } from '../kit/queues.ts';
import { decodeKeys, decodeNames, type KeyPage, lowerBound, NAMES, type SegmentRef } from './key-pages.ts';
import {
  KEY_PAGES,
  KEY_RUNS,
  type KeyCollections,
  type KeyRun,
  type KeyRunPage,
  keyPageId,
  namePageId,
} from './key-run.ts';

/** How old the list of runs may be. A delivery is found at most this long after its keys were written. */
const FRESH_MS = 150;

/** Bytes of unpacked pages in memory. */
const MOST_BYTES = 48_000_000;
const KEY_BYTES = 12;
const NAME_BYTES = 300;

/** Runs may be replaced while they are read. */
const MOST_TRIES = 4;

const LIST_PAGE = 1_000;

/** A run in memory. */
interface OpenRun {
  readonly head: KeyRun;
  readonly fences: Float64Array;
}

/** The runs of keys of all nodes: their heads in memory, their pages in a cache of limited size. */
export class KeyRuns {
  readonly collections: KeyCollections;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #runs = new Map<string, OpenRun>();
  readonly #keyPages = new BoundedCache<string, KeyPage>(MOST_BYTES);
  readonly #namePages = new BoundedCache<string, readonly SegmentRef[]>(MOST_BYTES);
  readonly #refresh = new SharedRuns(() => this.#list());
  #listedAt = Number.NEGATIVE_INFINITY;

  static async open({
    documents,
    clock,
  }: {
    readonly documents: Documents;
    readonly clock: Pick<Clock, 'monotonic'>;
  }): Promise<KeyRuns> {
    const runs = await documents.collection<KeyRun>(KEY_RUNS);
    return new KeyRuns({ runs, pages: await documents.collection<KeyRunPage>(KEY_PAGES) }, clock);
  }

  constructor(collections: KeyCollections, clock: Pick<Clock, 'monotonic'>) {
    this.collections = collections;
    this.#clock = clock;
  }

  /** Adds a run that this process wrote, so that its readers see it at once. */
  add(head: KeyRun): void {
    this.#runs.set(head.id, { head, fences: Float64Array.from(head.parts.fences) });
  }

  /** Reads the list of runs again. */
  refresh(): Promise<void> {
    return this.#refresh.run();
  }

  /** The heads of all runs, replaced ones included, read from the documents now. */
  async heads(): Promise<readonly KeyRun[]> {
    await this.refresh();
    return [...this.#runs.values()].map(({ head }) => head);
  }

  /** The segments that hold a key. A few may not: another key can have the same hash. */
  async find(tenant: string, hash: number): Promise<SegmentRef[]> {
    if (this.#clock.monotonic() - this.#listedAt > FRESH_MS) await this.refresh();
    for (let tries = 1; ; tries += 1) {
      const found = await Promise.all(this.#current().map((run) => this.#findIn(run, hash)));
      if (found.every((refs) => refs !== null)) {
        const all = found.flatMap((refs) => refs ?? []).filter((one) => one.tenant === tenant);
        return [...new Map(all.map((one) => [`${one.id} ${one.writer} ${one.round}`, one])).values()];
      }
      // A page is missing: its run was replaced and deleted.
      if (tries === MOST_TRIES) throw new SvcError('unavailable', 'the keys of the ledger have changed; try again');
      await this.refresh();
    }
  }

  /** One page of a run's keys. Null when the run was deleted. */
  async keyPage({ id, parts }: KeyRun, page: number): Promise<KeyPage | null> {
    const name = keyPageId(id, page);
    const known = this.#keyPages.get(name);
    if (known !== undefined) return known;
    const text = parts.keyPage ?? (await this.#pageText(name));
    if (text === null) return null;
    const decoded = decodeKeys(text);
    this.#keyPages.put(name, decoded, decoded.hashes.length * KEY_BYTES);
    return decoded;
  }

  /** One page of the names of a run's segments. Null when the run was deleted. */
  async namePage({ id, parts }: KeyRun, page: number): Promise<readonly SegmentRef[] | null> {
    const name = namePageId(id, page);
    const known = this.#namePages.get(name);
    if (known !== undefined) return known;
    const text = parts.namePage ?? (await this.#pageText(name));
    if (text === null) return null;
    const decoded = await decodeNames(text);
    this.#namePages.put(name, decoded, decoded.length * NAME_BYTES);
    return decoded;
  }

  /** Live runs without those that another one replaces. */
  #current(): OpenRun[] {
    const live = [...this.#runs.values()].filter(({ head }) => head.state === 'live');
    const replaced = new Set(live.flatMap(({ head }) => head.parts.replaces));
    return live.filter(({ head }) => !replaced.has(head.id));
  }

  async #findIn({ head, fences }: OpenRun, hash: number): Promise<SegmentRef[] | null> {
    const ordinals: number[] = [];
    // Equal hashes may begin on the page before the first one that begins with this hash.
    for (let page = Math.max(0, lowerBound(fences, hash) - 1); page < fences.length; page += 1) {
      if ((fences[page] ?? 0) > hash) break;
      const keys = await this.keyPage(head, page);
      if (keys === null) return null;
      for (let at = lowerBound(keys.hashes, hash); keys.hashes[at] === hash; at += 1)
        ordinals.push(keys.ordinals[at] ?? 0);
    }
    const refs: SegmentRef[] = [];
    for (const [page, some] of Map.groupBy(ordinals, (ordinal) => Math.floor(ordinal / NAMES))) {
      const names = await this.namePage(head, page);
      if (names === null) return null;
      for (const ordinal of some) {
        const ref = names[ordinal % NAMES];
        if (ref !== undefined) refs.push(ref);
      }
    }
    return refs;
  }

  async #pageText(id: string): Promise<string | null> {
    return (await this.collections.pages.get(SYSTEM_TENANT, id))?.page.text ?? null;
  }

  /** Reads the list of runs, and the heads of those that are not in memory or have changed. */
  async #list(): Promise<void> {
    const at = this.#clock.monotonic();
    const { runs } = this.collections;
    // One that this process adds meanwhile stays: it may have been written after the list was read.
    const known = [...this.#runs.keys()];
    const seen = new Set<string>();
    const changed: string[] = [];
    const query = { tenant: SYSTEM_TENANT, sort: [['id', 'asc']], limit: LIST_PAGE } as const;
    for (let find: Parameters<typeof runs.findStored>[0] = query; ; ) {
      const page = await runs.findStored(find);
      for (const { id, version } of page) {
        seen.add(id);
        if (this.#runs.get(id)?.head.version !== version) changed.push(id);
      }
      const last = page.at(-1);
      if (page.length < LIST_PAGE || last === undefined) break;
      find = { ...query, after: positionOf(query, last) };
    }
    const heads = await Promise.all(changed.map((id) => runs.get(SYSTEM_TENANT, id)));
    for (const head of heads) if (head !== null) this.add(head);
    for (const id of known) if (!seen.has(id)) this.#runs.delete(id);
    this.#listedAt = at;
  }
}
