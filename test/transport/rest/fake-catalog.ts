import { randomUUID } from 'node:crypto';
import type { AgentCatalog, AgentSummary, DeployedAgent } from '../../../catalog/api.ts';
import { type AgentManifest, AgentManifestSchema } from '../../../manifests/agent/schema.ts';
import { SvcError } from '../../../runtime/errors.ts';

type Row = DeployedAgent;

const summaryOf = ({ manifest: _manifest, manifest_yaml: _yaml, ...summary }: Row): AgentSummary => summary;

/** A catalog in memory that keeps the port's promises; `name: X` and `version: Y` lines are all it reads of YAML. */
export class FakeCatalog implements AgentCatalog {
  readonly rows: Row[] = [];

  async deploy(identity: { tenant: string }, manifest_yaml: string, { force }: { force: boolean }) {
    const name = /^ *name: (\S+)$/m.exec(manifest_yaml)?.[1];
    const version = /^ *version: (\S+)$/m.exec(manifest_yaml)?.[1] ?? '1.0.0';
    if (name === undefined) {
      throw new SvcError('invalid_manifest', undefined, {
        details: [{ path: 'metadata.name', line: 1, message: 'is missing' }],
      });
    }
    const tenant_id = identity.tenant;
    const same = this.rows.filter((row) => row.tenant_id === tenant_id && row.name === name);
    const at = same.find((row) => row.version === version);
    if (at !== undefined && !force) throw new SvcError('conflict', `agent ${name} ${version} exists`);
    const agent_id = same[0]?.agent_id ?? randomUUID();
    if (at === undefined) {
      this.rows.unshift({
        agent_id,
        name,
        tenant_id,
        version,
        description: '',
        status: 'deployed',
        labels: {},
        deployed_at: '2026-01-01T00:00:00.000Z',
        manifest: manifestNamed(name),
        manifest_yaml,
      });
    }
    return { agent_id, deployed: true as const };
  }

  async get(tenant: string, id: string, version?: string): Promise<DeployedAgent> {
    const found = this.rows.find(
      (row) => row.tenant_id === tenant && row.agent_id === id && (version === undefined || row.version === version),
    );
    if (found === undefined) throw new SvcError('not_found', `secret detail about ${tenant}`);
    return found;
  }

  async lookup(tenant: string, name: string): Promise<AgentSummary> {
    const found = this.rows.find((row) => row.tenant_id === tenant && row.name === name);
    if (found === undefined) throw new SvcError('not_found');
    return summaryOf(found);
  }

  async list(tenant: string, page = { limit: 1000, skip: 0 }): Promise<AgentSummary[]> {
    const mine = this.rows.filter((row) => row.tenant_id === tenant).map(summaryOf);
    return mine.slice(page.skip, page.skip + page.limit);
  }

  async versions(tenant: string, agentId: string): Promise<AgentSummary[]> {
    await this.get(tenant, agentId);
    return this.rows.filter((row) => row.tenant_id === tenant && row.agent_id === agentId).map(summaryOf);
  }

  async export(tenant: string, id: string): Promise<string> {
    return (await this.get(tenant, id)).manifest_yaml;
  }

  async delete(_identity: unknown, tenant: string, agentId: string): Promise<void> {
    await this.get(tenant, agentId);
    const kept = this.rows.filter((row) => !(row.tenant_id === tenant && row.agent_id === agentId));
    this.rows.splice(0, this.rows.length, ...kept);
  }

  async logs(tenant: string, agentId: string) {
    const { name } = await this.get(tenant, agentId);
    const event = { sequence: 1, event_type: 'AgentDeployed', payload: { name }, recorded_at: '2026-01-01T00:00:00Z' };
    return { events: [event], total: 1 };
  }
}

const manifestNamed = (name: string): AgentManifest =>
  AgentManifestSchema.parse({
    apiVersion: 'svc.dev/v1',
    kind: 'Agent',
    metadata: { name, version: '1.0.0' },
    spec: { runtime: {}, task: { instruction: 'x' } },
  });
