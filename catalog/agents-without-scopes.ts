import { positionOf } from '../runtime/documents/document-query.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../runtime/documents.ts';
import { AGENT_MANIFESTS, AGENTS } from './agent-record.ts';
import type { CatalogLogEvent } from './api.ts';
import type { CatalogRecord, VersionEntry } from './store/record.ts';
import type { ManifestRecord } from './store/stored-manifests.ts';

/** An agent as stored before agents had scopes: its name is unique in its tenant. */
export interface AgentWithoutScope extends StoredDocument {
  readonly name: string;
  readonly versions: readonly VersionEntry[];
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly deleted: boolean;
  readonly last_event: CatalogLogEvent;
}

/** The former collection. Its unique index would prevent a user's agent from having the same name as an agent of the tenant. */
export const AGENTS_WITHOUT_SCOPES: CollectionSpec = { name: 'agents', unique: [['name']], indexes: [] };

/** The current collection of agents. */
type AgentsOfToday = Pick<Collection<CatalogRecord>, 'get' | 'insert' | 'delete' | 'count'>;

const PAGE = 100;

/**
 * Migrates agents that were stored before agents had scopes. It copies them to the current collection with scope tenant and
 * keeps the originals while a node of an older version may read them, then deletes the originals. Copying is idempotent and may
 * run on several nodes at once.
 */
export class AgentsWithoutScopes {
  readonly #old: Collection<AgentWithoutScope>;
  readonly #agents: AgentsOfToday;
  readonly #manifests: Collection<ManifestRecord>;

  static async open(documents: Documents, agents?: AgentsOfToday): Promise<AgentsWithoutScopes> {
    return new AgentsWithoutScopes(
      await documents.collection<AgentWithoutScope>(AGENTS_WITHOUT_SCOPES),
      agents ?? (await documents.collection<CatalogRecord>(AGENTS)),
      await documents.collection<ManifestRecord>(AGENT_MANIFESTS),
    );
  }

  private constructor(
    old: Collection<AgentWithoutScope>,
    agents: AgentsOfToday,
    manifests: Collection<ManifestRecord>,
  ) {
    this.#old = old;
    this.#agents = agents;
    this.#manifests = manifests;
  }

  /** Copies the agents that are not copied yet. */
  async copy(): Promise<void> {
    for (let last: AgentWithoutScope | undefined; ; ) {
      const page = await this.#behind(last);
      for (const agent of page) await this.#copied(agent);
      if (page.length < PAGE) return;
      last = page.at(-1);
    }
  }

  /** Copies the agents and deletes the originals. The original of an agent whose name was taken meanwhile stays. */
  async take(): Promise<void> {
    for (let last: AgentWithoutScope | undefined; ; ) {
      const page = await this.#behind(last);
      for (const agent of page) {
        if (await this.#copied(agent)) await this.#old.delete(agent.tenant, agent.id);
      }
      if (page.length < PAGE) return;
      last = page.at(-1);
    }
  }

  /** Deletes the original of a deleted agent, so that it is not copied again. */
  async forget(id: string): Promise<void> {
    await this.#old.deleteMany({ tenant: null, where: { id } });
  }

  #behind(last: AgentWithoutScope | undefined): Promise<AgentWithoutScope[]> {
    const of = { tenant: null, limit: PAGE };
    return this.#old.find(last === undefined ? of : { ...of, after: positionOf(of, last) });
  }

  /** Whether the agent is, or was, in the current collection. It may since have moved to another tenant, or be moving. */
  async #copied(agent: AgentWithoutScope): Promise<boolean> {
    const { deleted, ...rest } = agent;
    const { tenant, id } = agent;
    if ((await this.#agents.count({ tenant: null, where: { id } })) > 0) return true;
    if (await this.#wasDeleted(agent)) return true;
    const inserted = await this.#agents.insert({
      ...rest,
      scope: 'tenant',
      owner: '',
      arriving_from: null,
      leaving_to: null,
      status: deleted ? 'deleted' : 'deployed',
    });
    if (!inserted) return (await this.#agents.get(tenant, id)) !== null;
    // Another node copied it earlier, and a user has deleted it since.
    if (await this.#wasDeleted(agent)) await this.#agents.delete(tenant, id);
    return true;
  }

  /** A deletion removes the manifests before the agent, so a missing manifest shows that the agent was deleted. */
  async #wasDeleted({ tenant, versions: [newest] }: AgentWithoutScope): Promise<boolean> {
    return newest !== undefined && (await this.#manifests.get(tenant, newest.manifest_id)) === null;
  }
}
