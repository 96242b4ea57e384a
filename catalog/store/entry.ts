import type { CatalogScope, CatalogStatus } from '../api.ts';
import { type CatalogKind, latestOf, type Shown, type VersionEntry, type VisibleRecord } from './record.ts';
import { notFound } from './rules.ts';

/** One version of an agent or workflow. Both catalogs derive their summaries from it. */
export interface CatalogEntry extends Shown {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly version: string;
  readonly scope: CatalogScope;
  /** Subject, for scope user; else null. */
  readonly owner: string | null;
  readonly status: CatalogStatus;
  readonly deployed_at: string;
}

/** An entry with its manifest. */
export type EntryWithManifest<Manifest> = CatalogEntry & {
  readonly manifest: Manifest;
  readonly manifest_yaml: string;
};

export function newestEntry(
  kind: Pick<CatalogKind<never>, 'noun' | 'idField' | 'events'>,
  record: VisibleRecord,
): CatalogEntry {
  const newest = latestOf(record.versions);
  return newest === undefined ? notFound(kind) : entryOf(record, newest, record);
}

export function entryOf(record: VisibleRecord, entry: VersionEntry, of: Shown): CatalogEntry {
  return {
    id: record.id,
    tenant: record.tenant,
    name: record.name,
    version: entry.version,
    ...(of.initial_state === undefined ? {} : { initial_state: of.initial_state }),
    scope: record.scope,
    owner: record.scope === 'user' ? record.owner : null,
    status: record.status,
    description: of.description,
    labels: of.labels,
    deployed_at: entry.deployed_at,
  };
}
