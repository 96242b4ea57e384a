import { positionOf } from '../runtime/documents/document-query.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../runtime/documents.ts';
import { AGENT_MANIFESTS, AGENTS } from './agent-record.ts';
import type { RecordedEvent } from './store/event-log.ts';
import type { CatalogRecord, VersionEntry } from './store/record.ts';
import type { ManifestRecord } from './store/stored-manifests.ts';

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

/** Of the collection of agents as they are stored today. */
type AgentsOfToday = Pick<Collection<CatalogRecord>, 'get' | 'insert' | 'delete' | 'count'>;

const PAGE = 100;

/**
 * Agents of versions without scopes. They are copied to where those of today are, at scope tenant, and stay where they were
 * as long as a node of such a version may look there; then the originals go. Copying may be repeated, on any node at once.
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

  /** Takes over what is not taken over yet. */
  async copy(): Promise<void> {
    for (let last: AgentWithoutScope | undefined; ; ) {
      const page = await this.#behind(last);
      for (const agent of page) await this.#copied(agent);
      if (page.length < PAGE) return;
      last = page.at(-1);
    }
  }

  /** Copies, and removes the originals. One whose name was taken meanwhile stays where it is. */
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

  /** An agent that was deleted where it is today must not be copied again. */
  async forget(id: string): Promise<void> {
    await this.#old.deleteMany({ tenant: null, where: { id } });
  }

  #behind(last: AgentWithoutScope | undefined): Promise<AgentWithoutScope[]> {
    const of = { tenant: null, limit: PAGE };
    return this.#old.find(last === undefined ? of : { ...of, after: positionOf(of, last) });
  }

  /** Whether it is among the agents of today, or was. It may have moved to another tenant since, or be on its way. */
  async #copied(agent: AgentWithoutScope): Promise<boolean> {
    const { deleted, ...rest } = agent;
    const { tenant, id } = agent;
    if ((await this.#agents.count({ tenant: null, where: { id } })) > 0) return true;
    if (await this.#wasDeleted(agent)) return true;
    const inserted = await this.#agents.insert({
      ...{ ...rest, scope: 'tenant', owner: '', arriving_from: null, leaving_to: null },
      status: deleted ? 'deleted' : 'deployed',
    });
    if (!inserted) return (await this.#agents.get(tenant, id)) !== null;
    // Another node took it over before, and a user deleted it since.
    if (await this.#wasDeleted(agent)) await this.#agents.delete(tenant, id);
    return true;
  }

  /** A deletion removes the manifests before the agent, so a missing one tells that it must not come back. */
  async #wasDeleted({ tenant, versions: [newest] }: AgentWithoutScope): Promise<boolean> {
    return newest !== undefined && (await this.#manifests.get(tenant, newest.manifest_id)) === null;
  }
}
