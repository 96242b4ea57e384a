import { type Page, readToken, tokenOf } from '../../runtime/documents/pages.ts';
import type { Condition } from '../../runtime/documents.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { CatalogReader, CatalogStatus } from '../api.ts';
import { MAX_PAGE } from '../page.ts';
import type { ShelfEntry } from './entry.ts';
import type { KeptEntries } from './kept-entries.ts';
import { ownersFor } from './lookup.ts';
import type { Shelf } from './shelf.ts';
import { merged, pagesOf, type Sorted } from './sorted.ts';

export interface ListFilter {
  readonly scope: 'global' | 'visible' | undefined;
  /** Default: all but archived ones. */
  readonly status: CatalogStatus | undefined;
  readonly limit: number;
  readonly skip: number;
  readonly pageToken: string | undefined;
}

/** Where a page begins: behind this name and id. */
type Behind = Pick<ShelfEntry, 'name' | 'id'> | undefined;

/**
 * Newest versions by name: global ones, all the reader sees, or (undefined) those of its tenant and its own. What ships
 * with the product counts as global. One that is moving is listed once.
 */
export async function listEntries(
  shelf: Shelf,
  kept: KeptEntries,
  shipped: readonly ShelfEntry[],
  reader: CatalogReader,
  filter: ListFilter,
): Promise<Page<ShelfEntry>> {
  const what = [shelf.kind.noun, reader.tenant, ownersFor(reader), filter.scope ?? null, filter.status ?? null];
  const behind = behindOf(readToken(what, filter));
  const status: Condition = filter.status ?? { in: ['deployed', 'paused'] };
  const size = Math.min(MAX_PAGE, filter.skip + filter.limit);
  // In one query, so that one that moves between a user and the tenant meanwhile is not missed.
  const near = { owner: { in: ownersFor(reader) }, scope: { in: ['user', 'tenant'] }, status };
  const ofTenant = pages(kept, { tenant: reader.tenant, where: near, size, behind });
  const ofAll = pages(kept, { tenant: SYSTEM_TENANT, where: { scope: 'global', status }, size, behind });
  const isListed = (entry: ShelfEntry): boolean =>
    (filter.status === undefined || entry.status === filter.status) &&
    (behind === undefined || isBefore(behind, entry));
  const ofProduct = sorted(shipped.filter(isListed));
  const sources =
    filter.scope === 'global'
      ? [ofAll, ofProduct]
      : filter.scope === 'visible'
        ? [ofTenant, ofAll, ofProduct]
        : [ofTenant];
  const items: ShelfEntry[] = [];
  let passed = 0;
  let last: ShelfEntry | undefined;
  for await (const run of merged(sources, isBefore))
    for (const entry of run) {
      // The second of one that is moving stands right behind the first.
      if (entry.id === last?.id) continue;
      last = entry;
      passed += 1;
      if (passed > filter.skip) items.push(entry);
      if (items.length === filter.limit) return { items, next_page_token: tokenOf(what, [entry.name, entry.id]) };
    }
  return { items };
}

/** Of one order for all sources: one that moves between two of them stands in one place. */
const isBefore = (a: NonNullable<Behind>, b: NonNullable<Behind>): boolean =>
  a.name < b.name || (a.name === b.name && a.id < b.id);

function behindOf(position: readonly unknown[] | undefined): Behind {
  const [name, id] = position ?? [];
  return typeof name === 'string' && typeof id === 'string' ? { name, id } : undefined;
}

function pages(
  kept: KeptEntries,
  of: {
    readonly tenant: string;
    readonly where: Readonly<Record<string, Condition>>;
    readonly size: number;
    readonly behind: Behind;
  },
): Sorted<ShelfEntry> {
  const { tenant, where, size } = of;
  const find = { tenant, where, sort: BY_NAME, limit: size };
  return pagesOf(size, (last: ShelfEntry | undefined) => {
    const from = last ?? of.behind;
    return kept.read(from === undefined ? find : { ...find, after: [from.name, from.id] });
  });
}

const BY_NAME = [
  ['name', 'asc'],
  ['id', 'asc'],
] as const;

async function* sorted(entries: readonly ShelfEntry[]): Sorted<ShelfEntry> {
  yield entries.toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
}
