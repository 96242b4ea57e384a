import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { UUID } from '../../runtime/random.ts';
import type { CatalogLogEvent, CatalogReader } from '../api.ts';
import { MAX_PAGE } from '../changes.ts';
import { merged, pagesOf } from './list.ts';
import { ownersFor } from './lookup.ts';
import type { ManifestStore } from './manifest-store.ts';
import { isVisible } from './record.ts';
import { notFound } from './rules.ts';

interface Page {
  readonly limit: number;
  readonly skip: number;
}

/**
 * The log of an entry that the reader sees, or saw before it was deleted; oldest first. The log of the system tenant has its
 * events at scope global, the log of its own tenant has the others. Throws `not_found`.
 */
export async function readLog(
  store: ManifestStore,
  reader: CatalogReader,
  uuid: string,
  page: Page,
): Promise<{ events: CatalogLogEvent[]; total: number }> {
  const id = uuid.toLowerCase();
  if (!UUID.test(id)) return notFound(store.kind);
  const tenants = await visibleParts(store, reader, id);
  const counts = await Promise.all(tenants.map((tenant) => store.log.count({ tenant, id })));
  const parts = tenants.filter((_, index) => counts[index] !== 0);
  const [first, second] = parts;
  if (first === undefined) return notFound(store.kind);
  if (second === undefined) {
    const events = await store.log.read({ tenant: first, id }, page);
    return { events, total: Math.max(...counts) };
  }
  return mergedLog(store, id, parts, page);
}

/** Tenants whose part of the log the reader may read. */
async function visibleParts(store: ManifestStore, reader: CatalogReader, id: string): Promise<string[]> {
  const near = await standingIn(store, reader.tenant, id);
  if (near !== null) return ownersFor(reader).includes(near.owner) ? withSystem(reader) : [];
  const far = await standingIn(store, SYSTEM_TENANT, id);
  return far?.scope === 'global' ? withSystem(reader) : [];
}

const withSystem = ({ tenant }: CatalogReader): string[] => [...new Set([tenant, SYSTEM_TENANT])];

/**
 * The scope and owner of an entry in a tenant; of a deleted one, its last. Null when it is in another tenant now, or was never
 * in this one.
 */
async function standingIn(
  store: ManifestStore,
  tenant: string,
  id: string,
): Promise<{ readonly scope: unknown; readonly owner: string } | null> {
  const record = await store.records.get(tenant, id);
  if (record !== null) await store.isSettled(record);
  if (record !== null && isVisible(record)) return record;
  const last = await store.log.newest({ tenant, id });
  if (last === null) return null;
  const { scope = last.payload.new_scope, owner = '' } = last.payload;
  return { scope, owner: typeof owner === 'string' ? owner : '' };
}

/** Merges two logs. A move between tenants is in both, with the same sequence number. */
async function mergedLog(
  store: ManifestStore,
  id: string,
  tenants: readonly string[],
  { limit, skip }: Page,
): Promise<{ events: CatalogLogEvent[]; total: number }> {
  const sources = tenants.map((tenant) =>
    pagesOf(MAX_PAGE, (last: CatalogLogEvent | undefined) =>
      store.log.read({ tenant, id }, { limit: MAX_PAGE, behind: last?.sequence ?? 0 }),
    ),
  );
  const events: CatalogLogEvent[] = [];
  let total = 0;
  let last = 0;
  for await (const run of merged(sources, (a, b) => a.sequence < b.sequence))
    for (const event of run) {
      if (event.sequence === last) continue;
      last = event.sequence;
      total += 1;
      if (total > skip && events.length < limit) events.push(event);
    }
  return { events, total };
}
