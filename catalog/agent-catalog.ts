import { parseAgentManifest } from '../manifests/agent/parse.ts';
import type { AgentManifest } from '../manifests/agent/schema.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Page, shownPage } from '../runtime/documents/pages.ts';
import type { Collection, Documents } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import { OneAtATimePerKey } from '../runtime/kit/queues.ts';
import type { Random } from '../runtime/random.ts';
import { AGENT_EVENTS, AGENT_MANIFESTS, AGENTS } from './agent-record.ts';
import { AgentsWithoutScopes } from './agents-without-scopes.ts';
import {
  type AgentCatalog,
  type AgentFilter,
  type AgentSummary,
  type CatalogLogEvent,
  type CatalogReader,
  type CatalogScope,
  type CatalogStatus,
  type DeployedAgent,
  type InUse,
  NOT_IN_USE,
} from './api.ts';
import { type BuiltIns, NO_BUILT_INS } from './built-in/api.ts';
import { checkPage, invalidManifest } from './changes.ts';
import type { CatalogEntry, EntryWithManifest } from './store/entry.ts';
import { readLog } from './store/log-reading.ts';
import { type ManifestStore, openManifestStore } from './store/manifest-store.ts';
import { type CatalogKind, type CatalogRecord, STATUSES } from './store/record.ts';
import { notFound } from './store/rules.ts';
import { VersionedCatalog } from './store/versioned-catalog.ts';

const AGENT: CatalogKind<AgentManifest> = {
  noun: 'agent',
  idField: 'agent_id',
  events: {
    deployed: 'AgentDeployed',
    removed: 'AgentDeleted',
    moved: 'AgentScopeChanged',
    status: { deployed: 'AgentResumed', paused: 'AgentPaused', archived: 'AgentArchived' },
  },
  read: readManifest,
  shown: ({ metadata: { description, labels } }) => ({ description, labels }),
};

/** The catalog of agents over a document store (see api.ts for what each call promises). */
export async function createAgentCatalog(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  readonly builtIns?: Pick<BuiltIns, 'agents'>;
  readonly inUse?: Pick<InUse, 'agent'>;
  /** Default: as many as anybody likes. */
  readonly quota?: AgentQuota;
}): Promise<AgentCatalog> {
  const { documents, builtIns = NO_BUILT_INS, inUse = NOT_IN_USE, quota, clock, random } = parts;
  const store = await openManifestStore(documents, AGENT, {
    ...{ records: AGENTS, manifests: AGENT_MANIFESTS, events: AGENT_EVENTS },
  });
  const old = await AgentsWithoutScopes.open(documents);
  await old.copy();
  const catalog = new VersionedCatalog({
    ...{ store, clock, random },
    shipped: () => builtIns.agents.map(shippedOf),
    inUse: (tenant, id) => inUse.agent(tenant, id),
    insert: quotaInsert(store.records, quota),
  });
  return new DocumentAgentCatalog(catalog, store, old, (identity) => hasRoom(store.records, quota, identity));
}

class DocumentAgentCatalog implements AgentCatalog {
  readonly #catalog: VersionedCatalog<AgentManifest>;
  readonly #store: ManifestStore<AgentManifest>;
  readonly #old: AgentsWithoutScopes;
  readonly hasRoom: AgentCatalog['hasRoom'];

  constructor(
    catalog: VersionedCatalog<AgentManifest>,
    store: ManifestStore<AgentManifest>,
    old: AgentsWithoutScopes,
    hasRoomFor: AgentCatalog['hasRoom'],
  ) {
    this.#catalog = catalog;
    this.#store = store;
    this.#old = old;
    this.hasRoom = hasRoomFor;
  }

  async deploy(
    identity: Identity,
    manifestYaml: string,
    { force, scope = 'tenant' }: { readonly force: boolean; readonly scope?: CatalogScope },
  ): Promise<{ agent_id: string; deployed: true }> {
    this.#catalog.requireDeploy(identity, scope);
    const manifest = readManifest(manifestYaml);
    const agent_id = await this.#catalog.deploy(identity, { manifest, manifestYaml, force }, scope);
    return { agent_id, deployed: true };
  }

  async get(reader: CatalogReader, idOrName: string, version?: string): Promise<DeployedAgent> {
    const found = await this.#catalog.get(reader, idOrName, version);
    return { ...summaryOf(found), manifest: found.manifest, manifest_yaml: found.manifest_yaml };
  }

  async lookup(reader: CatalogReader, name: string): Promise<AgentSummary> {
    const found = await this.#catalog.newest(reader, name);
    return found.name === name ? summaryOf(found) : notFound(AGENT);
  }

  async list(reader: CatalogReader, filter: AgentFilter = {}): Promise<Page<AgentSummary>> {
    return shownPage(await this.#catalog.list(reader, filter), summaryOf);
  }

  async versions(reader: CatalogReader, idOrName: string): Promise<AgentSummary[]> {
    return (await this.#catalog.versions(reader, idOrName)).map(summaryOf);
  }

  async export(reader: CatalogReader, idOrName: string): Promise<string> {
    return (await this.#catalog.get(reader, idOrName)).manifest_yaml;
  }

  async delete(identity: Identity, agentId: string, options?: { readonly force?: boolean }): Promise<void> {
    await this.#old.forget(await this.#catalog.delete(identity, agentId, options));
  }

  async setStatus(identity: Identity, idOrName: string, status: CatalogStatus): Promise<AgentSummary> {
    return summaryOf(await this.#catalog.setStatus(identity, idOrName, status));
  }

  async promote(identity: Identity, idOrName: string, target: 'tenant' | 'global'): Promise<AgentSummary> {
    return summaryOf(await this.#catalog.promote(identity, idOrName, target));
  }

  async demote(
    identity: Identity,
    idOrName: string,
    target: 'tenant' | 'user',
    userId?: string,
  ): Promise<AgentSummary> {
    return summaryOf(await this.#catalog.demote(identity, idOrName, target, userId));
  }

  async logs(
    reader: CatalogReader,
    agentId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ events: CatalogLogEvent[]; total: number }> {
    return readLog(this.#store, reader, agentId, checkPage(page.limit, page.offset, 'offset'));
  }
}

/** The manifest, or `invalid_manifest` with every problem's path, line and column. */
function readManifest(manifestYaml: string): AgentManifest {
  const parsed = parseAgentManifest(manifestYaml);
  if (parsed.ok) return parsed.manifest;
  throw invalidManifest(parsed.problems);
}

function summaryOf(entry: CatalogEntry): AgentSummary {
  return {
    agent_id: entry.id,
    name: entry.name,
    tenant_id: entry.tenant,
    version: entry.version,
    description: entry.description,
    status: entry.status,
    scope: entry.scope,
    owner: entry.owner,
    labels: entry.labels,
    deployed_at: entry.deployed_at,
  };
}

const shippedOf = ({ agent_id, tenant_id, ...agent }: DeployedAgent): EntryWithManifest<AgentManifest> => ({
  ...agent,
  id: agent_id,
  tenant: tenant_id,
});

/** How many agents somebody may have; null: as many as they like (H28). */
export interface AgentQuota {
  most(identity: Identity): number | null | Promise<number | null>;
}

/** Whether somebody may have one more agent. */
async function hasRoom(
  agents: Collection<CatalogRecord>,
  quota: AgentQuota | undefined,
  identity: Identity,
): Promise<boolean> {
  const most = (await quota?.most(identity)) ?? null;
  return most === null || (await countOf(agents, identity)) < most;
}

/**
 * Puts new agents in as long as whoever deploys has room: agents of the tenant that the same user made and that are
 * there still. On one node this user's creates go one by one, so races on several exceed it by one for each other node.
 */
function quotaInsert(
  agents: Collection<CatalogRecord>,
  quota: AgentQuota | undefined,
): (identity: Identity, record: CatalogRecord) => Promise<boolean | SvcError> {
  const queues = new OneAtATimePerKey();
  return async (identity, record) => {
    const most = (await quota?.most(identity)) ?? null;
    if (most === null) return agents.insert(record);
    const { tenant, subject } = identity;
    return queues.run(JSON.stringify([tenant, subject]), async () => {
      if ((await countOf(agents, identity)) < most) return agents.insert(record);
      const rule = `${most} agents are the most this user may have (tier ${identity.tier})`;
      return new SvcError('limit_reached', `${rule}; delete one first`, { field: 'agents' });
    });
  };
}

const countOf = (agents: Collection<CatalogRecord>, { tenant, subject }: Identity): Promise<number> =>
  agents.count({ tenant, where: { created_by: subject, status: { in: STATUSES } } });
