import type { AgentManifest } from '../manifests/agent/schema.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Collection, Documents } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { Random } from '../runtime/random.ts';
import { AGENT_EVENTS, AGENT_MANIFESTS, AGENTS, type AgentEventRecord, type AgentRecord } from './agent-record.ts';
import {
  busy,
  deletedRecord,
  deployedRecord,
  newestSummary,
  notFound,
  readManifest,
  refusalOf,
  summaryOf,
} from './agent-rules.ts';
import type { AgentCatalog, AgentSummary, CatalogLogEvent, DeployedAgent } from './api.ts';
import { EventLog } from './event-log.ts';
import { checkPage, MAX_PAGE } from './page.ts';
import { type ManifestRecord, StoredManifests } from './stored-manifests.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** A race lost this often in a row is reported, not waited for. */
const MAX_ATTEMPTS = 50;

/** The catalog of agents over a document store (see api.ts for what each call promises). */
export async function createAgentCatalog(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
}): Promise<AgentCatalog> {
  const { documents, clock, random } = parts;
  return new DocumentAgentCatalog({
    agents: await documents.collection<AgentRecord>(AGENTS),
    manifests: new StoredManifests(await documents.collection<ManifestRecord>(AGENT_MANIFESTS), readManifest),
    log: new EventLog<AgentEventRecord>({
      events: await documents.collection<AgentEventRecord>(AGENT_EVENTS),
      ownerField: 'agent_id',
      row: (event, agent_id) => ({ ...event, agent_id }),
    }),
    clock,
    random,
  });
}

interface Parts {
  readonly agents: Collection<AgentRecord>;
  readonly manifests: StoredManifests<AgentManifest>;
  readonly log: EventLog<AgentEventRecord>;
  readonly clock: Clock;
  readonly random: Random;
}

class DocumentAgentCatalog implements AgentCatalog {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async deploy(
    identity: Identity,
    manifestYaml: string,
    { force }: { readonly force: boolean },
  ): Promise<{ agent_id: string; deployed: true }> {
    const manifest = readManifest(manifestYaml);
    const { manifests, random } = this.#parts;
    const manifestId = random.uuid();
    // The text goes in first: a record never points to a text that is not there.
    await manifests.add(identity.tenant, manifestId, manifestYaml);
    const agentId = await this.#register(identity, manifest, manifestId, force);
    return { agent_id: agentId, deployed: true };
  }

  /** Puts the version into the agent's record, whoever else writes it meanwhile. Answers the agent's id. */
  async #register(identity: Identity, manifest: AgentManifest, manifestId: string, force: boolean): Promise<string> {
    const { agents, log, clock, random, manifests } = this.#parts;
    const { tenant } = identity;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = await this.#byName(tenant, manifest.metadata.name, { deleted: true });
      if (known !== null) await log.recover(known);
      if (known?.deleted === true) {
        await agents.delete(tenant, known.id);
        continue;
      }
      const refusal = refusalOf(manifest, known, force);
      if (refusal !== null) {
        await manifests.remove(tenant, [{ manifest_id: manifestId }]);
        throw refusal;
      }
      const at = new Date(clock.now()).toISOString();
      const agentId = known?.id ?? random.uuid();
      const record = deployedRecord(identity, manifest, known, { agentId, manifestId, at });
      const written = known === null ? await agents.insert(record) : await agents.replace(record, known.version);
      if (!written) continue;
      await log.record(record);
      const replaced = known?.versions.find((entry) => entry.version === manifest.metadata.version);
      if (replaced !== undefined) await manifests.remove(tenant, [replaced]);
      return agentId;
    }
    throw busy();
  }

  async get(tenant: string, idOrName: string, version?: string): Promise<DeployedAgent> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const agent = await this.#find(tenant, idOrName);
      const entry = version === undefined ? agent.versions[0] : agent.versions.find((one) => one.version === version);
      if (entry === undefined) throw new SvcError('not_found', 'agent version not found', { field: 'version' });
      const parsed = await this.#parts.manifests.get(tenant, entry.manifest_id);
      if (parsed !== null) return { ...summaryOf(agent, entry, parsed.manifest), ...parsed };
      // The version was replaced or deleted between the two reads: read again.
    }
    throw busy();
  }

  async lookup(tenant: string, name: string): Promise<AgentSummary> {
    return newestSummary((await this.#byName(tenant, name)) ?? notFound());
  }

  async list(tenant: string, page = { limit: MAX_PAGE, skip: 0 }): Promise<AgentSummary[]> {
    const { limit, skip } = checkPage(page.limit, page.skip, 'skip');
    const found = await this.#parts.agents.find({
      tenant,
      where: { deleted: false },
      sort: [['name', 'asc']],
      limit,
      skip,
    });
    return found.map(newestSummary);
  }

  async versions(tenant: string, agentId: string): Promise<AgentSummary[]> {
    const agent = (await this.#byId(tenant, agentId)) ?? notFound();
    const summaries: AgentSummary[] = [];
    for (const entry of agent.versions) {
      const parsed = await this.#parts.manifests.get(tenant, entry.manifest_id);
      if (parsed !== null) summaries.push(summaryOf(agent, entry, parsed.manifest));
    }
    return summaries;
  }

  async export(tenant: string, idOrName: string): Promise<string> {
    return (await this.get(tenant, idOrName)).manifest_yaml;
  }

  async delete(identity: Identity, tenant: string, agentId: string): Promise<void> {
    const { agents, log, clock, manifests } = this.#parts;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const agent = (await this.#byId(tenant, agentId)) ?? notFound();
      await log.recover(agent);
      const record = deletedRecord(identity, agent, new Date(clock.now()).toISOString());
      // From here on it is gone for everyone; what follows only cleans up.
      if (!(await agents.replace(record, agent.version))) continue;
      await log.record(record);
      await agents.delete(tenant, agent.id);
      await manifests.remove(tenant, agent.versions);
      return;
    }
    throw busy();
  }

  async logs(
    tenant: string,
    agentId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ events: CatalogLogEvent[]; total: number }> {
    const { limit, skip } = checkPage(page.limit, page.offset, 'offset');
    const id = agentId.toLowerCase();
    const agent = UUID.test(id) ? await this.#parts.agents.get(tenant, id) : null;
    if (agent !== null) await this.#parts.log.recover(agent);
    const found = await this.#parts.log.read(tenant, id, { limit, offset: skip });
    // A deleted agent keeps its log; one that never was has none.
    return found.total === 0 ? notFound() : found;
  }

  async #find(tenant: string, idOrName: string): Promise<AgentRecord> {
    return (await this.#byId(tenant, idOrName)) ?? (await this.#byName(tenant, idOrName)) ?? notFound();
  }

  async #byId(tenant: string, agentId: string): Promise<AgentRecord | null> {
    const found = UUID.test(agentId) ? await this.#parts.agents.get(tenant, agentId.toLowerCase()) : null;
    return found?.deleted === true ? null : found;
  }

  async #byName(tenant: string, name: string, also = { deleted: false }): Promise<AgentRecord | null> {
    const [found] = await this.#parts.agents.find({ tenant, where: { name }, limit: 1 });
    return found === undefined || (found.deleted && !also.deleted) ? null : found;
  }
}
