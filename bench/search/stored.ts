import { randomUUID } from 'node:crypto';
import { AGENT_MANIFESTS, AGENTS } from '../../catalog/agent-record.ts';
import type { CatalogRecord } from '../../catalog/store/record.ts';
import type { ManifestRecord } from '../../catalog/store/stored-manifests.ts';
import type { Documents } from '../../runtime/documents.ts';
import type { BenchAgent } from './agents.ts';

const BATCH = 500;
const DEPLOYED_AT = new Date(Date.now() - 86_400_000).toISOString();

/** Puts agents into the catalog's own collections, in bulk. */
export async function storeAgents(documents: Documents, tenant: string, agents: readonly BenchAgent[]): Promise<void> {
  const records = await documents.collection<CatalogRecord>(AGENTS);
  const manifests = await documents.collection<ManifestRecord>(AGENT_MANIFESTS);
  for (let from = 0; from < agents.length; from += BATCH) {
    const some = agents
      .slice(from, from + BATCH)
      .map((agent) => ({ agent, id: randomUUID(), manifest_id: randomUUID() }));
    await manifests.putMany(
      some.map(({ agent, manifest_id }) => ({
        tenant,
        id: manifest_id,
        version: 1,
        manifest_yaml: agent.yaml,
      })),
    );
    await records.putMany(some.map(({ agent, id, manifest_id }) => ({ ...recordOf(agent, id, manifest_id), tenant })));
  }
}

const event = (id: string) => ({
  ...{ sequence: 1, event_type: 'AgentDeployed', payload: { agent_id: id, by: 'bench' }, recorded_at: DEPLOYED_AT },
});

const recordOf = (
  { name, description, labels }: BenchAgent,
  id: string,
  manifest_id: string,
): Omit<CatalogRecord, 'tenant'> => ({
  ...{ scope: 'tenant', owner: '', id, version: 1, name, description, labels: { area: labels } },
  versions: [{ version: '1.0.0', manifest_id, deployed_at: DEPLOYED_AT }],
  ...{ status: 'deployed', arriving_from: null, leaving_to: null, last_event: event(id) },
});
