import type { StoredDocument } from '../../runtime/documents.ts';
import type { CatalogScope, CatalogStatus } from '../api.ts';
import type { RecordedEvent } from './event-log.ts';
import type { VersionEntry } from './versions.ts';

/** Where something stands: at most one of a name. Global ones stand in the system tenant. */
export interface Place {
  readonly tenant: string;
  readonly scope: CatalogScope;
  /** Subject, for scope user; else empty. */
  readonly owner: string;
}

/**
 * One agent or workflow with all its versions. One document, so that a compare-and-set on it decides every race: two
 * deploys of a version, a deploy against a delete, two firsts of a name (unique index). `id` is its UUID, which it keeps
 * in whatever scope; `version` counts the writes.
 */
export interface ShelfRecord extends StoredDocument, Place {
  readonly name: string;
  /** Newest first. */
  readonly versions: readonly VersionEntry[];
  /** Of the newest version, so that a list reads nothing else. */
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Of a workflow. */
  readonly initial_state?: string;
  /**
   * Beside what everybody sees (`CatalogStatus`): `arriving` keeps the place free for one that may come from another
   * tenant; nobody sees it. `deleted`: between the decision to delete and the removal of this record; nobody sees it
   * any more.
   */
  readonly status: CatalogStatus | 'arriving' | 'deleted';
  /** For `arriving`: the record it is a copy of, as it was then. */
  readonly arriving_from: { readonly tenant: string; readonly version: number } | null;
  /** The tenant it is moving to: decided, and it is seen here until it is seen there. */
  readonly leaving_to: string | null;
  /** Subject of the first deploy; absent in records of older versions. */
  readonly created_by?: string;
  /** Written into the log after the record: kept here so that a crash in between loses nothing. */
  readonly last_event: RecordedEvent;
}

export const STATUSES = ['deployed', 'paused', 'archived'] as const satisfies readonly CatalogStatus[];

/** A record as readers see it. */
export type SeenRecord = ShelfRecord & { readonly status: CatalogStatus };

export const isSeen = (record: ShelfRecord): record is SeenRecord =>
  record.status !== 'arriving' && record.status !== 'deleted';
