import { type Page, readToken, tokenOf } from '../../runtime/documents/pages.ts';
import type { Condition } from '../../runtime/documents.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { CatalogReader, CatalogStatus } from '../api.ts';
import { MAX_PAGE } from '../changes.ts';
import type { CatalogEntry } from './entry.ts';
import { ownersFor } from './lookup.ts';
import type { EntryCache, ManifestStore } from './manifest-store.ts';

interface ListFilter {
  readonly scope: 'global' | 'visible' | undefined;
  /** Default: all but archived ones. */
  readonly status: CatalogStatus | undefined;
  readonly limit: number;
  readonly skip: number;
  readonly pageToken: string | undefined;
}

/** The position after which a page begins. */
type Behind = Pick<CatalogEntry, 'name' | 'id'> | undefined;

/**
 * The newest versions, sorted by name: global ones, all that the reader sees, or (undefined) those of its tenant and its own.
 * Built-ins count as global. An entry that is moving is listed once.
 */
export async function listEntries(
  store: ManifestStore,
  cache: EntryCache,
  shipped: readonly CatalogEntry[],
  reader: CatalogReader,
  filter: ListFilter,
): Promise<Page<CatalogEntry>> {
  const what = [store.kind.noun, reader.tenant, ownersFor(reader), filter.scope ?? null, filter.status ?? null];
  const behind = behindOf(readToken(what, filter));
  const status: Condition = filter.status ?? { in: ['deployed', 'paused'] };
  // One more than the page, which says whether another one follows.
  const size = Math.min(MAX_PAGE, filter.skip + filter.limit + 1);
  // One query, so that an entry that moves between user and tenant during the read is not missed.
  const near = { owner: { in: ownersFor(reader) }, scope: { in: ['user', 'tenant'] }, status };
  const ofTenant = pages(cache, { tenant: reader.tenant, where: near, size, behind });
  const ofAll = pages(cache, { tenant: SYSTEM_TENANT, where: { scope: 'global', status }, size, behind });
  const isListed = (entry: CatalogEntry): boolean =>
    (filter.status === undefined || entry.status === filter.status) &&
    (behind === undefined || isBefore(behind, entry));
  const ofProduct = sorted(shipped.filter(isListed));
  const sources =
    filter.scope === 'global'
      ? [ofAll, ofProduct]
      : filter.scope === 'visible'
        ? [ofTenant, ofAll, ofProduct]
        : [ofTenant];
  const items: CatalogEntry[] = [];
  let passed = 0;
  let last: CatalogEntry | undefined;
  for await (const run of merged(sources, isBefore))
    for (const entry of run) {
      // The duplicate of a moving entry directly follows it.
      if (entry.id === last?.id) continue;
      if (last !== undefined && items.length === filter.limit)
        return { items, next_page_token: tokenOf(what, [last.name, last.id]) };
      last = entry;
      passed += 1;
      if (passed > filter.skip) items.push(entry);
    }
  return { items };
}

/** The same order for all sources, so that the duplicates of a moving entry are adjacent. */
const isBefore = (a: NonNullable<Behind>, b: NonNullable<Behind>): boolean =>
  a.name < b.name || (a.name === b.name && a.id < b.id);

function behindOf(position: readonly unknown[] | undefined): Behind {
  const [name, id] = position ?? [];
  return typeof name === 'string' && typeof id === 'string' ? { name, id } : undefined;
}

function pages(
  cache: EntryCache,
  of: {
    readonly tenant: string;
    readonly where: Readonly<Record<string, Condition>>;
    readonly size: number;
    readonly behind: Behind;
  },
): Sorted<CatalogEntry> {
  const { tenant, where, size } = of;
  const find = { tenant, where, sort: BY_NAME, limit: size };
  return pagesOf(size, (last: CatalogEntry | undefined) => {
    const from = last ?? of.behind;
    return cache.read(from === undefined ? find : { ...find, after: [from.name, from.id] });
  });
}

const BY_NAME = [
  ['name', 'asc'],
  ['id', 'asc'],
] as const;

async function* sorted(entries: readonly CatalogEntry[]): Sorted<CatalogEntry> {
  yield entries.toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
}

/** A sorted source, in pages: waiting for single items would take longer than reading them. */
type Sorted<T> = AsyncGenerator<readonly T[], void, undefined>;

/** Merges sorted sources, in runs. Of equal items that of the earlier source comes first. */
export async function* merged<T extends object>(
  sources: readonly Sorted<T>[],
  isBefore: (a: T, b: T) => boolean,
): Sorted<T> {
  let heads = await Promise.all(sources.map((source) => Head.of(source)));
  for (;;) {
    heads = heads.filter((head) => head.item !== undefined);
    const [only, second] = heads;
    if (only === undefined) return;
    const run = second === undefined ? only.rest() : runOf(heads, isBefore);
    yield run;
    for (const head of heads) if (head.item === undefined) await head.turn();
  }
}

/** Merges the items that need no further read, until one of the pages is used up. */
function runOf<T extends object>(heads: readonly Head<T>[], isBefore: (a: T, b: T) => boolean): T[] {
  const run: T[] = [];
  for (;;) {
    let first: Head<T> | undefined;
    for (const head of heads) {
      if (head.item === undefined) return run;
      if (first?.item === undefined || isBefore(head.item, first.item)) first = head;
    }
    if (first?.item === undefined) return run;
    run.push(first.item);
    first.step();
  }
}

/** The current page of a source and the position in it. */
class Head<T extends object> {
  readonly #source: Sorted<T>;
  #page: readonly T[] = [];
  #at = 0;

  constructor(source: Sorted<T>) {
    this.#source = source;
  }

  static async of<T extends object>(source: Sorted<T>): Promise<Head<T>> {
    const head = new Head(source);
    await head.turn();
    return head;
  }

  /** Undefined after the last item of the page, and at the end. */
  get item(): T | undefined {
    return this.#page[this.#at];
  }

  step(): void {
    this.#at += 1;
  }

  /** All remaining items of the page. */
  rest(): readonly T[] {
    const rest = this.#at === 0 ? this.#page : this.#page.slice(this.#at);
    this.#at = this.#page.length;
    return rest;
  }

  /** Moves to the next page with items, or to the end. */
  async turn(): Promise<void> {
    this.#at = 0;
    do {
      const { value, done } = await this.#source.next();
      this.#page = value ?? [];
      if (done === true) return;
    } while (this.#page.length === 0);
  }
}

/** All items of a source that is read in pages of `size`, each after the last item of the previous one. */
export async function* pagesOf<T>(size: number, read: (last: T | undefined) => Promise<readonly T[]>): Sorted<T> {
  for (let last: T | undefined; ; ) {
    const page = await read(last);
    yield page;
    if (page.length < size) return;
    last = page.at(-1);
  }
}
