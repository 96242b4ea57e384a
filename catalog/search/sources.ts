import type { Collection, Documents, StoredDocument } from '../../runtime/documents.ts';
import { AGENT_MANIFESTS, AGENTS } from '../agent-record.ts';
import { type CatalogChanges, openChanges } from '../changes.ts';
import type { ShelfRecord } from '../shelf/record.ts';
import type { ManifestRecord } from '../shelf/stored-manifests.ts';
import { WORKFLOW_MANIFESTS, WORKFLOWS } from '../workflow-record.ts';

export type SearchedKind = 'agents' | 'workflows';

/** Where the catalog keeps one kind: read here, written by the catalog alone. */
export interface Sources {
  readonly records: Pick<Collection<ShelfRecord>, 'get' | 'find'>;
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
    records: await documents.collection<ShelfRecord>(records),
    manifests: await documents.collection<ManifestRecord>(manifests),
    changes: await openChanges(documents, noun),
  };
}

const AT_A_TIME = 32;

/**
 * Documents by id, those that are there. One by one: several in one question no index of FerretDB 1 can
 * answer (decision 0020).
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
