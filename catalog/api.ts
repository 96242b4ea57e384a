import type { AgentManifest } from '../manifests/agent/schema.ts';
import type { Identity } from '../runtime/identity.ts';

export type { StimulusRoute, StimulusRoutes } from './stimulus-routes.ts';
export type {
  CatalogReader,
  DeployedWorkflow,
  Finding,
  WorkflowCatalog,
  WorkflowEntry,
  WorkflowScope,
  WorkflowValidation,
} from './workflow-api.ts';

/** What spec 2 calls an agent summary, plus the version. */
export interface AgentSummary {
  readonly agent_id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly version: string;
  readonly description: string;
  readonly status: 'deployed' | 'paused' | 'archived';
  readonly labels: Readonly<Record<string, string>>;
  readonly deployed_at: string;
}

export interface DeployedAgent extends AgentSummary {
  readonly manifest: AgentManifest;
  readonly manifest_yaml: string;
}

/** Deployed agents of a tenant. The truth is Documents (unique index), written before the answer (design R2). */
export interface AgentCatalog {
  /**
   * Registers a manifest. All versions of a name share one agent_id. Throws `invalid_manifest` (details with path and
   * line), `conflict` when (name, version) exists and `force` is false. Records AgentDeployed.
   */
  deploy(
    identity: Identity,
    manifestYaml: string,
    options: { readonly force: boolean },
  ): Promise<{ agent_id: string; deployed: true }>;
  /** Newest version of an agent by UUID or name, or the given version; throws `not_found`. */
  get(tenant: string, idOrName: string, version?: string): Promise<DeployedAgent>;
  lookup(tenant: string, name: string): Promise<AgentSummary>;
  /** Newest version of each agent, by name. */
  list(tenant: string, page?: { readonly limit: number; readonly skip: number }): Promise<AgentSummary[]>;
  versions(tenant: string, agentId: string): Promise<AgentSummary[]>;
  export(tenant: string, idOrName: string): Promise<string>;
  delete(identity: Identity, tenant: string, agentId: string): Promise<void>;
  /** Log events (AgentDeployed …), oldest first. */
  logs(
    tenant: string,
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
