import { parseAgentManifest } from '../manifests/agent/parse.ts';
import type { AgentManifest } from '../manifests/agent/schema.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { AgentRecord } from './agent-record.ts';
import type { AgentSummary } from './api.ts';
import { invalidManifest } from './invalid-manifest.ts';
import { MAX_VERSIONS, type VersionEntry, withVersion } from './versions.ts';

/** The manifest, or `invalid_manifest` with every problem's path, line and column. */
export function readManifest(manifestYaml: string): AgentManifest {
  const parsed = parseAgentManifest(manifestYaml);
  if (parsed.ok) return parsed.manifest;
  throw invalidManifest(parsed.problems);
}

/** Why this manifest cannot become a version of the agent that is there; null when it can. */
export function refusalOf(manifest: AgentManifest, known: AgentRecord | null, force: boolean): SvcError | null {
  if (known === null) return null;
  const { name, version } = manifest.metadata;
  if (known.versions.some((entry) => entry.version === version))
    return force
      ? null
      : new SvcError('conflict', `agent ${name} version ${version} exists; use force to replace it`, {
          field: 'metadata.version',
        });
  return known.versions.length < MAX_VERSIONS
    ? null
    : new SvcError('failed_precondition', `agent ${name} has ${MAX_VERSIONS} versions, the most there may be`);
}

/** The agent's record with the manifest as one more version, or as the same version anew. */
export function deployedRecord(
  identity: Identity,
  manifest: AgentManifest,
  known: AgentRecord | null,
  deploy: { readonly agentId: string; readonly manifestId: string; readonly at: string },
): AgentRecord {
  const { agentId, manifestId, at } = deploy;
  const { name, version, description, labels } = manifest.metadata;
  const versions = withVersion(known?.versions ?? [], { version, manifest_id: manifestId, deployed_at: at });
  const isNewest = versions[0]?.version === version;
  const sequence = (known?.version ?? 0) + 1;
  return {
    tenant: identity.tenant,
    id: agentId,
    version: sequence,
    name,
    versions,
    description: known === null || isNewest ? description : known.description,
    labels: known === null || isNewest ? labels : known.labels,
    deleted: false,
    last_event: {
      sequence,
      event_type: 'AgentDeployed',
      payload: { agent_id: agentId, name, version, deployed_at: at, by: identity.subject },
      recorded_at: at,
    },
  };
}

export function deletedRecord(identity: Identity, known: AgentRecord, at: string): AgentRecord {
  const sequence = known.version + 1;
  const payload = { agent_id: known.id, name: known.name, deleted_at: at, by: identity.subject };
  const last_event = { sequence, event_type: 'AgentDeleted', payload, recorded_at: at } as const;
  return { ...known, version: sequence, deleted: true, last_event };
}

export function newestSummary(agent: AgentRecord): AgentSummary {
  const [newest] = agent.versions;
  return newest === undefined ? notFound() : summaryOf(agent, newest, { metadata: agent });
}

export function summaryOf(
  agent: AgentRecord,
  entry: VersionEntry,
  { metadata }: { readonly metadata: Pick<AgentSummary, 'description' | 'labels'> },
): AgentSummary {
  return {
    agent_id: agent.id,
    name: agent.name,
    tenant_id: agent.tenant,
    version: entry.version,
    description: metadata.description,
    status: 'deployed',
    labels: metadata.labels,
    deployed_at: entry.deployed_at,
  };
}

/** Unknown, deleted and another tenant's agents answer alike (spec 2, Agents). */
export function notFound(): never {
  throw new SvcError('not_found', 'agent not found');
}

export const busy = (): SvcError =>
  new SvcError('unavailable', 'the agent is being changed by others; try again', { retryAfterMs: 1_000 });
