import compareBuild from 'semver/functions/compare-build.js';
import type { StoredDocument } from '../../runtime/documents.ts';
import type { CatalogScope, CatalogStatus } from '../api.ts';
import type { RecordedEvent } from './event-log.ts';

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
export interface CatalogRecord extends StoredDocument, Place {
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
export type VisibleRecord = CatalogRecord & { readonly status: CatalogStatus };

export const isVisible = (record: CatalogRecord): record is VisibleRecord =>
  record.status !== 'arriving' && record.status !== 'deleted';

/** One deployed version of an agent or workflow. */
export interface VersionEntry {
  /** Semantic version of the manifest. */
  readonly version: string;
  readonly manifest_id: string;
  readonly deployed_at: string;
}

/** Versions of a name are kept in its record, so their number is bounded. */
export const MAX_VERSIONS = 1_000;

/** The list with `entry` added, or put in place of the same version; newest first by semantic version. */
export function withVersion(entries: readonly VersionEntry[], entry: VersionEntry): VersionEntry[] {
  const others = entries.filter((other) => other.version !== entry.version);
  return [entry, ...others].sort((a, b) => compareBuild(b.version, a.version));
}

/** What every manifest says of itself. */
export interface ManifestHead {
  readonly metadata: {
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly labels: Readonly<Record<string, string>>;
  };
}

/** What tells agents from workflows: words, event types, and what a list shows of a manifest. */
export interface CatalogKind<Manifest extends ManifestHead> {
  readonly noun: 'agent' | 'workflow';
  /** Names whose event it is, in the payload and in the row. */
  readonly idField: 'agent_id' | 'workflow_id';
  readonly events: {
    readonly deployed: string;
    readonly removed: string;
    readonly moved: string;
    /** By the status it has now; back to `deployed` is the event of resuming. */
    readonly status: Readonly<Record<CatalogStatus, string>>;
  };
  /** Of a text that was deployed. */
  read(manifestYaml: string): Manifest;
  shown(manifest: Manifest): Shown;
}

/** What lists and summaries show of a manifest. */
export interface Shown {
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly initial_state?: string;
}
