import prerelease from 'semver/functions/prerelease.js';
import type { StoredDocument } from '../../runtime/documents.ts';
import type { CatalogLogEvent, CatalogScope, CatalogStatus } from '../api.ts';

/** The namespace of an entry's name, which is unique in it. Global entries are in the system tenant. */
export interface Namespace {
  readonly tenant: string;
  readonly scope: CatalogScope;
  /** Subject, for scope user; else empty. */
  readonly owner: string;
}

/**
 * An agent or workflow with all its versions. It is one document, so that compare-and-set decides all races: two deploys of a
 * version, a deploy and a delete, two first deploys of a name (unique index). `id` is its UUID, the same in every scope;
 * `version` counts the writes.
 */
export interface CatalogRecord extends StoredDocument, Namespace {
  readonly name: string;
  /** Last deployed first; in records of older versions highest first. */
  readonly versions: readonly VersionEntry[];
  /** Description of the latest version (`latestOf`), stored here so that a list needs no other read. */
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Set for workflows only. */
  readonly initial_state?: string;
  /**
   * `CatalogStatus` is visible. `arriving` reserves the name for an entry that may come from another tenant, and is hidden.
   * `deleted` is between the decision to delete and the removal of the record, and is hidden too.
   */
  readonly status: CatalogStatus | 'arriving' | 'deleted';
  /** For `arriving`: tenant and version of the record that was copied. */
  readonly arriving_from: { readonly tenant: string; readonly version: number } | null;
  /** The tenant of a decided move. The entry is visible here until it is visible there. */
  readonly leaving_to: string | null;
  /** Subject of the first deploy; absent in records of older versions. */
  readonly created_by?: string;
  /** Also written to the log, after the record; kept here so that a crash in between loses no event. */
  readonly last_event: CatalogLogEvent;
}

export const STATUSES = ['deployed', 'paused', 'archived'] as const satisfies readonly CatalogStatus[];

/** A record with a visible status. */
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

/** Maximum number of versions of a name, since they are kept in one record. */
export const MAX_VERSIONS = 1_000;

/**
 * Adds `entry` to the list, or replaces the same version; last deployed first. Its time is after those of the others, also
 * when the clock of this node is behind.
 */
export function withVersion(entries: readonly VersionEntry[], entry: VersionEntry): VersionEntry[] {
  const others = byDeployment(entries).filter((other) => other.version !== entry.version);
  const after = Math.max(
    ...others.map(({ deployed_at }) => Date.parse(deployed_at) + 1),
    Date.parse(entry.deployed_at),
  );
  return [{ ...entry, deployed_at: new Date(after).toISOString() }, ...others];
}

/** Last deployed first. */
export const byDeployment = (entries: readonly VersionEntry[]): VersionEntry[] =>
  entries.toSorted((a, b) => (a.deployed_at === b.deployed_at ? 0 : a.deployed_at < b.deployed_at ? 1 : -1));

/**
 * The version that runs when none is named: the one deployed last that is no pre-release; where there are only pre-releases,
 * the last of them.
 */
export function latestOf(entries: readonly VersionEntry[]): VersionEntry | undefined {
  const deployed = byDeployment(entries);
  return deployed.find(({ version }) => prerelease(version) === null) ?? deployed[0];
}

/** The fields that all manifests have. */
export interface ManifestHead {
  readonly metadata: {
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly labels: Readonly<Record<string, string>>;
  };
}

/** The differences between agents and workflows: names, event types, and which fields of a manifest a list shows. */
export interface CatalogKind<Manifest extends ManifestHead> {
  readonly noun: 'agent' | 'workflow';
  /** The field with the id of the owner, in the payload and in the stored event. */
  readonly idField: 'agent_id' | 'workflow_id';
  readonly events: {
    readonly deployed: string;
    readonly removed: string;
    readonly moved: string;
    /** Event type by the new status; `deployed` is the event of resuming. */
    readonly status: Readonly<Record<CatalogStatus, string>>;
  };
  /** Parses a text that was deployed. */
  read(manifestYaml: string): Promise<Manifest>;
  shown(manifest: Manifest): Shown;
}

/** The fields of a manifest that lists and summaries show. */
export interface Shown {
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly initial_state?: string;
}
