import type { Collection, CollectionSpec, Documents, StoredDocument } from '../runtime/documents.ts';
import { AGENT_MANIFESTS } from './agent-record.ts';
import type { RecordedEvent } from './shelf/event-log.ts';
import type { ShelfRecord } from './shelf/record.ts';
import type { ManifestRecord } from './shelf/stored-manifests.ts';
import type { VersionEntry } from './shelf/versions.ts';

/** An agent as it was stored before agents had scopes: one of a name in a tenant. */
export interface AgentWithoutScope extends StoredDocument {
  readonly name: string;
  readonly versions: readonly VersionEntry[];
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly deleted: boolean;
  readonly last_event: RecordedEvent;
}

/** Its unique index would keep a user's agent from having the name of the tenant's. */
export const AGENTS_WITHOUT_SCOPES: CollectionSpec = { name: 'agents', unique: [['name']], indexes: [] };

const PAGE = 100;

/**
 * Moves agents of older versions where those of today are, at scope tenant. Each is written there before it goes here, so
 * a crash loses none; nodes that do it at once do no harm. One whose name was taken meanwhile stays where it is.
 */
export async function takeOverOldAgents(documents: Documents, agents: Collection<ShelfRecord>): Promise<void> {
  const old = await documents.collection<AgentWithoutScope>(AGENTS_WITHOUT_SCOPES);
  const manifests = await documents.collection<ManifestRecord>(AGENT_MANIFESTS);
  for (let kept = 0; ; ) {
    const page = await old.find({ tenant: null, sort: [['id', 'asc']], limit: PAGE, skip: kept });
    if (page.length === 0) return;
    for (const agent of page) if (!(await takeOver(agent, old, agents, manifests))) kept += 1;
  }
}

/** False when it stays. */
async function takeOver(
  agent: AgentWithoutScope,
  old: Collection<AgentWithoutScope>,
  agents: Collection<ShelfRecord>,
  manifests: Collection<ManifestRecord>,
): Promise<boolean> {
  const { tenant, id } = agent;
  const { deleted, ...rest } = agent;
  const inserted = await agents.insert({
    ...{ ...rest, scope: 'tenant', owner: '', arriving_from: null, leaving_to: null },
    status: deleted ? 'deleted' : 'deployed',
  });
  if (!inserted && (await agents.get(tenant, id)) === null) return false;
  if ((await old.delete(tenant, id)) || !inserted) return true;
  // Another node removed the old record: it found the agent that was just inserted, or had moved it before and a user
  // has deleted it since. A deletion removes the manifests first, so a missing one tells that the agent must not come back.
  const [first] = agent.versions;
  if (first !== undefined && (await manifests.get(tenant, first.manifest_id)) === null) await agents.delete(tenant, id);
  return true;
}
