import type { CollectionSpec } from '../runtime/documents.ts';
import type { StoredEvent } from './shelf/event-log.ts';

export interface WorkflowEventRecord extends StoredEvent {
  readonly workflow_id: string;
}

export const WORKFLOWS: CollectionSpec = {
  name: 'workflows',
  unique: [['scope', 'owner', 'name']],
  indexes: [['name']],
  // A list reads these alone, and whole records only when it does not know them (shelf/kept-entries.ts).
  beside: ['owner', 'scope', 'status', 'version'],
};
export const WORKFLOW_MANIFESTS: CollectionSpec = { name: 'workflow_manifests', unique: [], indexes: [] };
export const WORKFLOW_EVENTS: CollectionSpec = {
  name: 'workflow_events',
  unique: [],
  indexes: [['workflow_id', 'sequence'], ['recorded_at']],
};
