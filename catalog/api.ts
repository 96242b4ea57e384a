import type { AgentManifest } from '../manifests/agent/schema.ts';
import type { Page } from '../runtime/documents/pages.ts';
import type { Identity } from '../runtime/identity.ts';
import type { CatalogReader, WorkflowScope } from './workflow-api.ts';

export type { LearnedPattern, NewPattern, PatternQuery, Patterns, StoredPattern } from './patterns-api.ts';
export type { CatalogSearch, Embeddings, SearchHit, SearchRequest } from './search-api.ts';
export type { StimulusRoute, StimulusRoutes } from './stimulus-routes.ts';
export type {
  CatalogReader,
  DeployedWorkflow,
  Finding,
  WorkflowCatalog,
  WorkflowEntry,
  WorkflowFilter,
  WorkflowScope,
  WorkflowValidation,
} from './workflow-api.ts';
export { actingFor, requireStartable } from './workflow-api.ts';

/** Where a name stands. Unique in each; a reader finds its own first, then its tenant's, then global ones. */
export type CatalogScope = WorkflowScope;

/** `paused`: no new run starts, those that run go on. `archived`: not listed unless asked for, and no new run. */
export type CatalogStatus = 'deployed' | 'paused' | 'archived';

/** What spec 2 calls an agent summary, plus version, scope and owner. */
export interface AgentSummary {
  readonly agent_id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly version: string;
  readonly description: string;
  readonly status: CatalogStatus;
  readonly scope: CatalogScope;
  /** Subject, for scope user. */
  readonly owner: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly deployed_at: string;
}

export interface DeployedAgent extends AgentSummary {
  readonly manifest: AgentManifest;
  readonly manifest_yaml: string;
}

export interface AgentFilter {
  /** As for workflows (spec 3, svc.workflow.list); absent: the tenant's and the reader's own. */
  readonly scope?: 'global' | 'visible';
  /** Default: all but archived ones. */
  readonly status?: CatalogStatus;
  /** At most 1,000; default 1,000. */
  readonly limit?: number;
  readonly skip?: number;
  readonly pageToken?: string;
}

/** Deployed agents. The truth is Documents (unique index), written before the answer (design R2). */
export interface AgentCatalog {
  /**
   * Registers a manifest. All versions of a name in a scope share one agent_id. Throws `invalid_manifest` (details with path
   * and line), `conflict` when (name, version) exists and `force` is false, `forbidden` for scope global without the operator
   * role, `limit_reached` beyond the tier's number of agents. Records AgentDeployed. Default scope: tenant.
   */
  deploy(
    identity: Identity,
    manifestYaml: string,
    options: { readonly force: boolean; readonly scope?: CatalogScope },
  ): Promise<{ agent_id: string; deployed: true }>;
  /** Whether the tier's number of agents leaves room for one more of this caller's. */
  hasRoom(identity: Identity): Promise<boolean>;
  /** Newest version of an agent by UUID or name as the reader sees it, or the given version; throws `not_found`. */
  get(reader: CatalogReader, idOrName: string, version?: string): Promise<DeployedAgent>;
  lookup(reader: CatalogReader, name: string): Promise<AgentSummary>;
  /** Newest version of each agent, by name. */
  list(reader: CatalogReader, filter?: AgentFilter): Promise<Page<AgentSummary>>;
  versions(reader: CatalogReader, idOrName: string): Promise<AgentSummary[]>;
  export(reader: CatalogReader, idOrName: string): Promise<string>;
  /** Throws `failed_precondition` while executions of it run, unless forced; those go on. Records AgentDeleted. */
  delete(identity: Identity, agentId: string, options?: { readonly force?: boolean }): Promise<void>;
  /** Pauses, archives or puts back into service. Records AgentPaused, AgentArchived or AgentResumed with who and when. */
  setStatus(identity: Identity, idOrName: string, status: CatalogStatus): Promise<AgentSummary>;
  /** user to tenant, tenant to global. Throws `forbidden` without the capability, `conflict` when the name is taken there. */
  promote(identity: Identity, idOrName: string, target: 'tenant' | 'global'): Promise<AgentSummary>;
  /** global to tenant, tenant to user. */
  demote(identity: Identity, idOrName: string, target: 'tenant' | 'user', userId?: string): Promise<AgentSummary>;
  /** Log events (AgentDeployed …), oldest first; a deleted agent keeps its log. */
  logs(
    reader: CatalogReader,
    agentId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ events: CatalogLogEvent[]; total: number }>;
}

export interface CatalogLogEvent {
  readonly sequence: number;
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly recorded_at: string;
}
