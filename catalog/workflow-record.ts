import type { CollectionSpec, StoredDocument } from '../runtime/documents.ts';
import type { RecordedEvent, StoredEvent } from './event-log.ts';
import type { VersionEntry } from './versions.ts';
import type { WorkflowScope } from './workflow-api.ts';

export type WorkflowEventType = 'WorkflowRegistered' | 'WorkflowRemoved' | 'WorkflowScopeChanged';

/** Where a workflow stands: at most one of a name. Global ones stand in the system tenant. */
export interface Place {
  readonly tenant: string;
  readonly scope: WorkflowScope;
  /** Subject, for scope user; else empty. */
  readonly owner: string;
}

/**
 * One workflow with all its versions. One document, so that a compare-and-set on it decides every race. `id` is the
 * workflow's UUID, which it keeps in whatever scope; `version` counts the writes.
 */
export interface WorkflowRecord extends StoredDocument, Place {
  readonly name: string;
  /** Newest first. */
  readonly versions: readonly VersionEntry[];
  /** Of the newest version, so that a list reads nothing else. */
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly initial_state: string;
  /**
   * `arriving`: keeps the place free for one that may come from another tenant; nobody sees it. `deleted`: between the
   * decision to delete and the removal of this record; nobody sees it any more.
   */
  readonly status: 'deployed' | 'arriving' | 'deleted';
  /** For `arriving`: the record it is a copy of, as it was then. */
  readonly arriving_from: { readonly tenant: string; readonly version: number } | null;
  /** The tenant it is moving to: decided, and it is seen here until it is seen there. */
  readonly leaving_to: string | null;
  /** Written into the log after the record: kept here so that a crash in between loses nothing. */
  readonly last_event: RecordedEvent<WorkflowEventType>;
}

export interface WorkflowEventRecord extends StoredEvent {
  readonly workflow_id: string;
}

export const WORKFLOWS: CollectionSpec = {
  name: 'workflows',
  unique: [['scope', 'owner', 'name']],
  indexes: [['name']],
};
export const WORKFLOW_MANIFESTS: CollectionSpec = { name: 'workflow_manifests', unique: [], indexes: [] };
export const WORKFLOW_EVENTS: CollectionSpec = {
  name: 'workflow_events',
  unique: [],
  indexes: [['workflow_id', 'sequence']],
};
