import { randomUUID } from 'node:crypto';
import type {
  AgentCatalog,
  AgentSummary,
  CatalogFilter,
  CatalogReader,
  CatalogScope,
  CatalogStatus,
  DeployedAgent,
} from '../../../catalog/api.ts';
import { type AgentManifest, AgentManifestSchema } from '../../../manifests/agent/schema.ts';
import { SvcError } from '../../../runtime/errors.ts';

type Row = DeployedAgent;

const summaryOf = ({ manifest: _manifest, manifest_yaml: _yaml, ...summary }: Row): AgentSummary => summary;

/** A catalog in memory that implements the port; `name: X` and `version: Y` lines are all it reads of YAML. */
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
        scope: 'tenant',
        owner: null,
        labels: {},
        deployed_at: '2026-01-01T00:00:00.000Z',
        manifest: manifestNamed(name),
        manifest_yaml,
      });
    }
    return { agent_id, deployed: true as const };
  }

  async get({ tenant }: CatalogReader, id: string, version?: string): Promise<DeployedAgent> {
    const found = this.rows.find(
      (row) => row.tenant_id === tenant && row.agent_id === id && (version === undefined || row.version === version),
    );
    if (found === undefined) throw new SvcError('not_found', `secret detail about ${tenant}`);
    return found;
  }

  async hasRoom(): Promise<boolean> {
    return true;
  }

  async lookup({ tenant }: CatalogReader, name: string): Promise<AgentSummary> {
    const found = this.rows.find((row) => row.tenant_id === tenant && row.name === name);
    if (found === undefined) throw new SvcError('not_found');
    return summaryOf(found);
  }

  async list({ tenant }: CatalogReader, filter: CatalogFilter = {}): Promise<{ items: AgentSummary[] }> {
    const mine = this.rows.filter((row) => row.tenant_id === tenant).map(summaryOf);
    const { limit = 1000, skip = 0 } = filter;
    return { items: mine.slice(skip, skip + limit) };
  }

  async versions({ tenant }: CatalogReader, agentId: string): Promise<AgentSummary[]> {
    await this.get({ tenant }, agentId);
    return this.rows.filter((row) => row.tenant_id === tenant && row.agent_id === agentId).map(summaryOf);
  }

  async export({ tenant }: CatalogReader, id: string): Promise<string> {
    return (await this.get({ tenant }, id)).manifest_yaml;
  }

  async delete({ tenant }: { tenant: string }, agentId: string): Promise<void> {
    await this.get({ tenant }, agentId);
    const kept = this.rows.filter((row) => !(row.tenant_id === tenant && row.agent_id === agentId));
    this.rows.splice(0, this.rows.length, ...kept);
  }

  setStatus({ tenant }: { tenant: string }, agentId: string, status: CatalogStatus) {
    return this.#change(tenant, agentId, { status });
  }

  promote({ tenant }: { tenant: string }, agentId: string, scope: CatalogScope) {
    return this.#change(tenant, agentId, { scope });
  }

  demote({ tenant }: { tenant: string }, agentId: string, scope: CatalogScope, userId?: string) {
    return this.#change(tenant, agentId, { scope, owner: userId ?? null });
  }

  async #change(tenant: string, agentId: string, change: Partial<Row>): Promise<AgentSummary> {
    const found = await this.get({ tenant }, agentId);
    const at = this.rows.findIndex((row) => row.tenant_id === tenant && row.agent_id === found.agent_id);
    this.rows[at] = { ...found, ...change };
    return summaryOf({ ...found, ...change });
  }

  async logs({ tenant }: CatalogReader, agentId: string) {
    const { name } = await this.get({ tenant }, agentId);
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
