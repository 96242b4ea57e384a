import type { Collection, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { AGENT_MANIFESTS, AGENTS } from '../agent-record.ts';
import type { CatalogReader, CatalogScope, CatalogStatus, SearchHit } from '../api.ts';
import { type CatalogChanges, openChanges } from '../changes.ts';
import { type CatalogRecord, isVisible, latestOf } from '../store/record.ts';
import type { ManifestRecord } from '../store/stored-manifests.ts';
import { WORKFLOW_MANIFESTS, WORKFLOWS } from '../workflow-catalog.ts';

/** An agent or workflow in a search index. */
export interface SearchEntry extends Omit<SearchHit, 'score'> {
  readonly tenant: string;
  readonly scope: CatalogScope;
  /** Subject, for scope user; else empty. */
  readonly owner: string;
  readonly status: CatalogStatus;
  /** The tenant that it is moving to; else null. */
  readonly leavingTo: string | null;
  /** Version of its record. */
  readonly recordVersion: number;
}

/** Null for a record that no reader sees: arriving or deleted. */
export function entryOf(record: CatalogRecord): SearchEntry | null {
  const newest = latestOf(record.versions);
  if (!isVisible(record) || newest === undefined) return null;
  const { tenant, id, name, description, labels, status, scope, owner, version: recordVersion } = record;
  const placed = { tenant, scope, owner, leavingTo: record.leaving_to, recordVersion };
  return { ...placed, id, name, version: newest.version, description, labels, status };
}

/** Whether a reader sees the entry: its own, its tenant's and global ones. */
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

/** Whether the entry passes the filter. */
export function isWanted(filter: Filter, { labels, status, scope }: SearchEntry): boolean {
  if (!filter.statuses.includes(status)) return false;
  if (scope === 'global' && !filter.includePlatformTemplates) return false;
  return Object.entries(filter.labels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

export type SearchedKind = 'agents' | 'workflows';

/** The catalog's collections of one kind. The search only reads them. */
export interface Sources {
  readonly records: Pick<Collection<CatalogRecord>, 'get' | 'find'>;
  readonly manifests: Pick<Collection<ManifestRecord>, 'get'>;
  readonly changes: Pick<CatalogChanges, 'since'>;
}

const SEARCHED = {
  agents: { noun: 'agent', records: AGENTS, manifests: AGENT_MANIFESTS },
  workflows: { noun: 'workflow', records: WORKFLOWS, manifests: WORKFLOW_MANIFESTS },
} as const;

export async function openSources(documents: Documents, kind: SearchedKind): Promise<Sources> {
  const { noun, records, manifests } = SEARCHED[kind];
  return {
    records: await documents.collection<CatalogRecord>(records),
    manifests: await documents.collection<ManifestRecord>(manifests),
    changes: await openChanges(documents, noun),
  };
}

const AT_A_TIME = 32;

/**
 * The existing documents of these ids. Reads them one by one, since FerretDB 1 cannot answer a query for several ids from an
 * index (decision 0020).
 */
export async function byIds<T extends StoredDocument>(
  collection: Pick<Collection<T>, 'get'>,
  tenant: string,
  ids: readonly string[],
): Promise<T[]> {
  const found: T[] = [];
  for (let from = 0; from < ids.length; from += AT_A_TIME) {
    const some = ids.slice(from, from + AT_A_TIME);
    for (const one of await Promise.all(some.map((id) => collection.get(tenant, id))))
      if (one !== null) found.push(one);
  }
  return found;
}
