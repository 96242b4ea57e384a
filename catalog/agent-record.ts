import type { CollectionSpec, StoredDocument } from '../runtime/documents.ts';
import type { RecordedEvent, StoredEvent } from './event-log.ts';
import type { VersionEntry } from './versions.ts';

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
  readonly last_event: RecordedEvent<'AgentDeployed' | 'AgentDeleted'>;
}

export interface AgentEventRecord extends StoredEvent {
  readonly agent_id: string;
}

export const AGENTS: CollectionSpec = { name: 'agents', unique: [['name']], indexes: [] };
export const AGENT_MANIFESTS: CollectionSpec = { name: 'agent_manifests', unique: [], indexes: [] };
export const AGENT_EVENTS: CollectionSpec = { name: 'agent_events', unique: [], indexes: [['agent_id', 'sequence']] };
