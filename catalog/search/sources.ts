import type { Collection, Documents } from '../../runtime/documents.ts';
import { AGENT_EVENTS, AGENT_MANIFESTS, AGENTS } from '../agent-record.ts';
import type { StoredEvent } from '../shelf/event-log.ts';
import type { ShelfRecord } from '../shelf/record.ts';
import type { ShelfCollections } from '../shelf/shelf.ts';
import type { ManifestRecord } from '../shelf/stored-manifests.ts';
import { WORKFLOW_EVENTS, WORKFLOW_MANIFESTS, WORKFLOWS } from '../workflow-record.ts';

export type SearchedKind = 'agents' | 'workflows';

/** Where the catalog keeps one kind: read here, written by the catalog alone. */
export interface Sources {
  readonly records: Pick<Collection<ShelfRecord>, 'find'>;
  readonly manifests: Pick<Collection<ManifestRecord>, 'find'>;
  /** The id of an event is `ID:SEQUENCE` of what it happened to. */
  readonly events: Pick<Collection<StoredEvent>, 'find'>;
}

const SEARCHED: Readonly<Record<SearchedKind, ShelfCollections>> = {
  agents: { records: AGENTS, manifests: AGENT_MANIFESTS, events: AGENT_EVENTS },
  workflows: { records: WORKFLOWS, manifests: WORKFLOW_MANIFESTS, events: WORKFLOW_EVENTS },
};

export async function openSources(documents: Documents, kind: SearchedKind): Promise<Sources> {
  const { records, manifests, events } = SEARCHED[kind];
  return {
    records: await documents.collection<ShelfRecord>(records),
    manifests: await documents.collection<ManifestRecord>(manifests),
    events: await documents.collection<StoredEvent>(events),
  };
}
