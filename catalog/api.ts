import type { AgentManifest } from '../manifests/agent/schema.ts';
import type { Finding } from '../manifests/workflow/finding.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import type { Page } from '../runtime/documents/pages.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';

export type { LearnedPattern, NewPattern, PatternQuery, Patterns, StoredPattern } from './patterns-api.ts';
export type { StimulusRoute, StimulusRoutes } from './stimulus-routes.ts';

/**
 * Who can read an entry. A name is unique in each scope; a reader finds its own entry first, then its tenant's, then a global
 * one.
 */
export type CatalogScope = WorkflowScope;

/** `paused`: no new run starts, running ones continue. `archived`: also hidden from lists without a status filter. */
export type CatalogStatus = 'deployed' | 'paused' | 'archived';

/** An agent summary (H10), plus version, scope and owner. */
export interface AgentSummary {
  readonly agent_id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly version: string;
  readonly description: string;
  readonly status: CatalogStatus;
  readonly scope: CatalogScope;
  /** Subject, for scope user; else null. */
  readonly owner: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly deployed_at: string;
}

export interface DeployedAgent extends AgentSummary {
  readonly manifest: AgentManifest;
  readonly manifest_yaml: string;
}

/** Filter and page of a list. */
export interface CatalogFilter {
  /** Absent: entries of the reader's tenant and the reader's own (W35). */
  readonly scope?: 'global' | 'visible';
  /** Default: all but archived ones. */
  readonly status?: CatalogStatus;
  /** At most 1,000; default 1,000. */
  readonly limit?: number;
  readonly skip?: number;
  readonly pageToken?: string;
}

/** The calls of both catalogs. */
interface Catalog<Summary, Deployed extends Summary> {
  /** The newest version by UUID or name that the reader sees, or the given version. Throws `not_found`. */
  get(reader: CatalogReader, idOrName: string, version?: string): Promise<Deployed>;
  /** The newest version of each entry, sorted by name. */
  list(reader: CatalogReader, filter?: CatalogFilter): Promise<Page<Summary>>;
  versions(reader: CatalogReader, idOrName: string): Promise<Summary[]>;
  /** Pauses, archives or resumes. Records the event of its kind (such as AgentPaused) with user and time. */
  setStatus(identity: Identity, idOrName: string, status: CatalogStatus): Promise<Summary>;
  /**
   * Widens the scope: from user to tenant, from tenant to global. Throws `forbidden`, or `conflict` when the name is taken
   * there.
   */
  promote(identity: Identity, idOrName: string, target: 'tenant' | 'global'): Promise<Summary>;
  /** Narrows the scope: from global to tenant, from tenant to user. Throws as `promote`. */
  demote(identity: Identity, idOrName: string, target: 'tenant' | 'user', userId?: string): Promise<Summary>;
}

/** Deployed agents. The store holds them, with a unique index; each write is durable before the answer (R2). */
export interface AgentCatalog extends Catalog<AgentSummary, DeployedAgent> {
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
  /** Whether the caller may create one more agent within the limit of its tier. */
  hasRoom(identity: Identity): Promise<boolean>;
  lookup(reader: CatalogReader, name: string): Promise<AgentSummary>;
  export(reader: CatalogReader, idOrName: string): Promise<string>;
  /**
   * Throws `failed_precondition` while executions of the agent run, unless forced; these executions continue. Records
   * AgentDeleted.
   */
  delete(identity: Identity, agentId: string, options?: { readonly force?: boolean }): Promise<void>;
  /** Log events (AgentDeployed …), oldest first. A deleted agent keeps its log. */
  logs(
    reader: CatalogReader,
    agentId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ events: CatalogLogEvent[]; total: number }>;
}

/** An event of a deployed agent or workflow. Its record carries the last event, written before the log. */
export interface CatalogLogEvent {
  readonly sequence: number;
  readonly event_type: string;
  /** Includes the user and the time. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly recorded_at: string;
}

/** A search of the catalog (W38). */
export interface SearchRequest {
  readonly query: string;
  /** Default 10, at most 100. */
  readonly limit?: number;
  /** 0 to 1; default 0.3. */
  readonly minScore?: number;
  /** All pairs must match. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Default: deployed and paused ones. */
  readonly status?: string;
  /** Whether to include the built-ins and the agents and workflows at scope global; default true. */
  readonly includePlatformTemplates?: boolean;
}

export interface SearchHit {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  /** 0 to 1, best first. */
  readonly score: number;
}

/**
 * Searches what a reader sees by meaning. The index follows the catalog: a search finds everything deployed before it began and
 * nothing deleted before. Throws `cortex_not_configured` when memory is switched off.
 */
export interface CatalogSearch {
  agents(reader: CatalogReader, request: SearchRequest): Promise<readonly SearchHit[]>;
  workflows(reader: CatalogReader, request: SearchRequest): Promise<readonly SearchHit[]>;
}

/** A model that turns texts into vectors: texts with similar meanings get similar vectors. */
export interface Embeddings {
  /** Identifies the model and its settings; vectors of different models are not compared. */
  readonly model: string;
  /**
   * One vector for each text, in the same order. Throws `model_unavailable` or `model_failed`; the messages contain no secrets.
   */
  embed(texts: readonly string[]): Promise<readonly (readonly number[])[]>;
}

export type { Finding };

export type WorkflowScope = 'user' | 'tenant' | 'global';

/** The reader of a catalog. Its own workflows come before those of its tenant, and these before global ones. */
export interface CatalogReader {
  readonly tenant: string;
  /** Subject whose user-scoped workflows are visible; absent: none. */
  readonly subject?: string;
}

/** Workflow summary (W37) with the further fields of lists. */
export interface WorkflowEntry {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly initial_state: string;
  readonly scope: WorkflowScope;
  /** Subject, for scope user; else null. */
  readonly owner: string | null;
  readonly status: CatalogStatus;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly deployed_at: string;
}

export interface DeployedWorkflow extends WorkflowEntry {
  readonly manifest: WorkflowManifest;
  readonly manifest_yaml: string;
}

export interface WorkflowValidation {
  readonly valid: boolean;
  readonly findings: readonly Finding[];
  /** Absent when the text could not be parsed. */
  readonly metadata?: { readonly name: string; readonly version: string; readonly initial_state: string };
}

/** Deployed workflows. The store holds them, with a unique index; each write is durable before the answer (R2). */
export interface WorkflowCatalog extends Catalog<WorkflowEntry, DeployedWorkflow> {
  /**
   * Checks a manifest without deploying it, against the deployed entries: unknown agents, child cycles and depth. Never throws
   * for an invalid text.
   */
  validate(reader: CatalogReader, manifestYaml: string): Promise<WorkflowValidation>;
  /**
   * Registers a manifest. All versions of a name in a scope share one id. Throws `invalid_manifest`, `conflict` when
   * (name, version) exists and `force` is false, `forbidden` for scope global without the operator role.
   */
  deploy(
    identity: Identity,
    manifestYaml: string,
    options: { readonly force: boolean; readonly scope?: WorkflowScope },
  ): Promise<{ readonly workflow_id: string; readonly deployed: true; readonly warnings: readonly Finding[] }>;
  /** Throws `failed_precondition` while the workflow runs, unless forced; running ones continue. */
  delete(
    identity: Identity,
    idOrName: string,
    options?: { readonly force?: boolean },
  ): Promise<{ readonly workflow_id: string }>;
}

/**
 * The identity that a run acts for. A run of a user's own workflow or agent (scope user) belongs to that user, and so does
 * everything that it starts.
 */
export const actingFor = (identity: Identity, { scope }: { readonly scope: CatalogScope }): Identity =>
  scope === 'user' ? { ...identity, confidential: true } : identity;

/**
 * Checks whether a run may start; every start calls it. Throws `failed_precondition` naming the status of a paused or archived
 * one. Running ones continue.
 */
export function requireStartable(found: { readonly name: string; readonly status: CatalogStatus }): void {
  if (found.status === 'deployed') return;
  throw new SvcError(
    'failed_precondition',
    `${found.name} is ${found.status}: no run of it can start; resume it first`,
    {
      field: 'status',
    },
  );
}

/**
 * Counts the executions of an agent or workflow that have not ended. Implemented outside the catalog (main.ts connects them).
 */
export interface InUse {
  /** `tenant` null: in all tenants, for global ones. */
  agent(tenant: string | null, id: string): Promise<number>;
  workflow(tenant: string | null, id: string): Promise<number>;
}

/** For tests, and tools without a runtime. */
export const NOT_IN_USE: InUse = { agent: () => Promise.resolve(0), workflow: () => Promise.resolve(0) };
