import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { CatalogReader, CatalogScope, CatalogStatus, SearchHit } from '../api.ts';
import { isSeen, type ShelfRecord } from '../shelf/record.ts';

/** An agent or workflow as a search sees it. */
export interface SearchEntry extends Omit<SearchHit, 'score'> {
  readonly tenant: string;
  readonly scope: CatalogScope;
  /** Subject, for scope user; else empty. */
  readonly owner: string;
  readonly status: CatalogStatus;
  /** The tenant it is moving to. */
  readonly leavingTo: string | null;
  /** Counts the writes of its record. */
  readonly recordVersion: number;
}

/** Null for what nobody sees: on its way in, or out. */
export function entryOf(record: ShelfRecord): SearchEntry | null {
  const [newest] = record.versions;
  if (!isSeen(record) || newest === undefined) return null;
  const { tenant, id, name, description, labels, status, scope, owner, version: recordVersion } = record;
  const placed = { tenant, scope, owner, leavingTo: record.leaving_to, recordVersion };
  return { ...placed, ...{ id, name, version: newest.version, description, labels, status } };
}

/** Whether a reader sees it: its own, its tenant's, global ones. */
export function isSeenBy(reader: CatalogReader, entry: SearchEntry): boolean {
  if (entry.leavingTo !== null && entry.leavingTo !== SYSTEM_TENANT && entry.leavingTo !== reader.tenant) return false;
  if (entry.scope === 'global') return true;
  if (entry.tenant !== reader.tenant) return false;
  return entry.scope === 'tenant' || (reader.subject !== undefined && entry.owner === reader.subject);
}

export interface Filter {
  readonly labels: Readonly<Record<string, string>>;
  readonly statuses: readonly string[];
  readonly includePlatformTemplates: boolean;
}

/** Whether the request asks for such a one. */
export function isWanted(filter: Filter, { labels, status, scope }: SearchEntry): boolean {
  if (!filter.statuses.includes(status)) return false;
  if (scope === 'global' && !filter.includePlatformTemplates) return false;
  return Object.entries(filter.labels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}
