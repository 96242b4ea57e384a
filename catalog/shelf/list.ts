import type { Condition } from '../../runtime/documents.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { CatalogReader, CatalogStatus } from '../api.ts';
import { MAX_PAGE } from '../page.ts';
import { newestEntry, type ShelfEntry } from './entry.ts';
import { ownersFor } from './lookup.ts';
import { isSeen } from './record.ts';
import type { Shelf } from './shelf.ts';
import { merged, pagesOf, type Sorted } from './sorted.ts';

export interface ListFilter {
  readonly scope: 'global' | 'visible' | undefined;
  /** Default: all but archived ones. */
  readonly status: CatalogStatus | undefined;
  readonly limit: number;
  readonly skip: number;
}

/**
 * Newest versions by name: global ones, all the reader sees, or (undefined) those of its tenant and its own. What ships
 * with the product counts as global. One that is moving is listed once.
 */
export async function listEntries(
  shelf: Shelf,
  shipped: readonly ShelfEntry[],
  reader: CatalogReader,
  filter: ListFilter,
): Promise<ShelfEntry[]> {
  const status: Condition = filter.status ?? { in: ['deployed', 'paused'] };
  const size = Math.min(MAX_PAGE, filter.skip + filter.limit);
  // In one query, so that one that moves between a user and the tenant meanwhile is not missed.
  const near = { owner: { in: ownersFor(reader) }, scope: { in: ['user', 'tenant'] }, status };
  const ofTenant = pages(shelf, reader.tenant, near, size);
  const ofAll = pages(shelf, SYSTEM_TENANT, { scope: 'global', status }, size);
  const ofProduct = sorted(shipped.filter((entry) => filter.status === undefined || entry.status === filter.status));
  const sources =
    filter.scope === 'global'
      ? [ofAll, ofProduct]
      : filter.scope === 'visible'
        ? [ofTenant, ofAll, ofProduct]
        : [ofTenant];
  const seen = new Set<string>();
  const listed: ShelfEntry[] = [];
  for await (const entry of merged(sources, (a, b) => a.name < b.name)) {
    if (seen.has(entry.id)) continue;
    seen.add(entry.id);
    if (seen.size > filter.skip) listed.push(entry);
    if (listed.length === filter.limit) break;
  }
  return listed;
}

const pages = (
  shelf: Shelf,
  tenant: string,
  where: Readonly<Record<string, Condition>>,
  size: number,
): Sorted<ShelfEntry> =>
  pagesOf(
    size,
    (skip) => shelf.records.find({ tenant, where, sort: BY_NAME, limit: size, skip }),
    (record) => (isSeen(record) ? [newestEntry(shelf.kind, record)] : []),
  );

const BY_NAME = [
  ['name', 'asc'],
  ['id', 'asc'],
] as const;

async function* sorted(entries: readonly ShelfEntry[]): Sorted<ShelfEntry> {
  yield entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
