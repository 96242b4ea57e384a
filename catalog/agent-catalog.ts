import type { AgentManifest } from '../manifests/agent/schema.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Collection, Documents } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import { counted } from '../runtime/kit/counted.ts';
import { OneAtATimePerKey } from '../runtime/kit/queues.ts';
import type { Random } from '../runtime/random.ts';
import { AGENT_EVENTS, AGENT_MANIFESTS, AGENTS } from './agent-record.ts';
import { AgentsWithoutScopes } from './agents-without-scopes.ts';
import {
  type AgentCatalog,
  type AgentSummary,
  type CatalogLogEvent,
  type CatalogReader,
  type CatalogScope,
  type DeployedAgent,
  type InUse,
  NOT_IN_USE,
} from './api.ts';
import { type BuiltIns, NO_BUILT_INS } from './built-in/api.ts';
import { checkPage, invalidManifest } from './changes.ts';
import { readAgentManifest } from './manifest-reading.ts';
import type { CatalogEntry, EntryWithManifest } from './store/entry.ts';
import { readLog } from './store/log-reading.ts';
import { openManifestStore } from './store/manifest-store.ts';
import { type CatalogKind, type CatalogRecord, STATUSES } from './store/record.ts';
import { notFound } from './store/rules.ts';
import { VersionedCatalog, type VersionedCatalogParts } from './store/versioned-catalog.ts';

const AGENT: CatalogKind<AgentManifest> = {
  noun: 'agent',
  idField: 'agent_id',
  events: {
    deployed: 'AgentDeployed',
    removed: 'AgentDeleted',
    moved: 'AgentScopeChanged',
    status: { deployed: 'AgentResumed', paused: 'AgentPaused', archived: 'AgentArchived' },
  },
  read: (text) => readManifest(text),
  shown: ({ metadata: { description, labels } }) => ({ description, labels }),
};

/** The catalog of agents over a document store (see api.ts for what each call promises). */
export async function createAgentCatalog(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  readonly builtIns?: Pick<BuiltIns, 'agents'>;
  readonly inUse?: Pick<InUse, 'agent'>;
  /** Default: no limit. */
  readonly quota?: AgentQuota;
  /** Of the node's volumes. Default: sizes are not checked. */
  readonly maxSizeLimitMb?: number;
}): Promise<AgentCatalog> {
  const { documents, builtIns = NO_BUILT_INS, inUse = NOT_IN_USE, quota, clock, random, maxSizeLimitMb } = parts;
  const specs = { records: AGENTS, manifests: AGENT_MANIFESTS, events: AGENT_EVENTS };
  const store = await openManifestStore(documents, AGENT, specs);
  const old = await AgentsWithoutScopes.open(documents);
  await old.copy();
  const catalogParts = {
    store,
    shipped: () => builtIns.agents.map(shippedOf),
    inUse: (tenant: string | null, id: string) => inUse.agent(tenant, id),
    insert: quotaInsert(store.records, quota),
    summary: summaryOf,
    clock,
    random,
  };
  return new DocumentAgentCatalog(catalogParts, old, { quota, maxSizeLimitMb });
}

class DocumentAgentCatalog extends VersionedCatalog<AgentManifest, AgentSummary> implements AgentCatalog {
  readonly #old: AgentsWithoutScopes;
  readonly #quota: AgentQuota | undefined;
  readonly #maxSizeLimitMb: number | undefined;

  constructor(
    parts: VersionedCatalogParts<AgentManifest, AgentSummary>,
    old: AgentsWithoutScopes,
    limits: { readonly quota: AgentQuota | undefined; readonly maxSizeLimitMb: number | undefined },
  ) {
    super(parts);
    this.#old = old;
    this.#quota = limits.quota;
    this.#maxSizeLimitMb = limits.maxSizeLimitMb;
  }

  async hasRoom(identity: Identity): Promise<boolean> {
    const most = (await this.#quota?.most(identity)) ?? null;
    return most === null || (await countOf(this.store.records, identity)) < most;
  }

  async deploy(
    identity: Identity,
    manifestYaml: string,
    { force, scope = 'tenant' }: { readonly force: boolean; readonly scope?: CatalogScope },
  ): Promise<{ agent_id: string; deployed: true }> {
    this.requireDeploy(identity, scope);
    const manifest = await readManifest(manifestYaml, this.#maxSizeLimitMb);
    return { agent_id: await this.register(identity, { manifest, manifestYaml, force }, scope), deployed: true };
  }

  async lookup(reader: CatalogReader, name: string): Promise<AgentSummary> {
    const found = await this.newest(reader, name);
    return found.name === name ? summaryOf(found) : notFound(AGENT);
  }

  async export(reader: CatalogReader, idOrName: string): Promise<string> {
    return (await this.find(reader, idOrName)).manifest_yaml;
  }

  async delete(identity: Identity, agentId: string, options?: { readonly force?: boolean }): Promise<void> {
    await this.#old.forget(await this.remove(identity, agentId, options));
  }

  logs(
    reader: CatalogReader,
    agentId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ events: CatalogLogEvent[]; total: number }> {
    return readLog(this.store, reader, agentId, checkPage(page.limit, page.offset, 'offset'));
  }
}

/** Parses a manifest. Throws `invalid_manifest` with the path, line and column of each problem. */
async function readManifest(manifestYaml: string, maxSizeLimitMb?: number): Promise<AgentManifest> {
  const parsed = await readAgentManifest(manifestYaml, maxSizeLimitMb);
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

/** Maximum number of agents of a caller; null: no limit (H28). */
export interface AgentQuota {
  most(identity: Identity): number | null | Promise<number | null>;
}

/**
 * Inserts a new agent while the caller is below its quota, which counts the existing agents of the tenant that this user
 * created. Creates of one user run one at a time on a node; concurrent ones on n nodes can exceed the quota by n - 1.
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
      const rule = `at most ${counted(most, 'agent')} of this user (tier ${identity.tier})`;
      return new SvcError('limit_reached', `${rule}; delete one first`, { field: 'agents' });
    });
  };
}

const countOf = (agents: Collection<CatalogRecord>, { tenant, subject }: Identity): Promise<number> =>
  agents.count({ tenant, where: { created_by: subject, status: { in: STATUSES } } });
