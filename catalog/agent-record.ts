import type { CollectionSpec, StoredDocument } from '../runtime/documents.ts';

/**
 * One agent of a tenant with all its versions. One document, so that a compare-and-set on it decides every race: two
 * deploys of a version, a deploy against a delete, two firsts of a name (unique index).
 */
export interface AgentRecord extends StoredDocument {
  /** `id` is the agent's UUID; `version` counts the writes. */
  readonly name: string;
  /** Newest first. */
  readonly versions: readonly VersionEntry[];
  /** Of the newest version, so that a list reads nothing else. */
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Between the decision to delete and the removal of this record; nobody sees it any more. */
  readonly deleted: boolean;
  /** Written into the log after the record: kept here so that a crash in between loses nothing. */
  readonly last_event: RecordedEvent;
}

export interface VersionEntry {
  /** Semantic version of the manifest. */
  readonly version: string;
  readonly manifest_id: string;
  readonly deployed_at: string;
}

/** The text of one deploy; never changed, only removed. */
export interface ManifestRecord extends StoredDocument {
  readonly manifest_yaml: string;
}

export interface RecordedEvent {
  readonly sequence: number;
  readonly event_type: 'AgentDeployed' | 'AgentDeleted';
  readonly payload: Readonly<Record<string, unknown>>;
  readonly recorded_at: string;
}

/** `id` is `agent_id:sequence`, so that recording twice is harmless. */
export interface AgentEventRecord extends StoredDocument, RecordedEvent {
  readonly agent_id: string;
}

export const AGENTS: CollectionSpec = { name: 'agents', unique: [['name']], indexes: [] };
export const AGENT_MANIFESTS: CollectionSpec = { name: 'agent_manifests', unique: [], indexes: [] };
export const AGENT_EVENTS: CollectionSpec = { name: 'agent_events', unique: [], indexes: [['agent_id', 'sequence']] };
