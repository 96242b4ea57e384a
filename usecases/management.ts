import type { AgentCatalog, CatalogReader, CatalogScope, CatalogSearch, WorkflowCatalog } from '../catalog/api.ts';
import type { RuntimeTable } from '../manifests/runtime-table/table.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import { type ErrorCode, SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { JsonObject } from '../runtime/json.ts';
import { mayActFor, requireRole } from '../security/api.ts';
import type { ExecutionApi } from './executions.ts';
import type { EndWait } from './fields.ts';
import type { IntentRequest, IntentStarted, IntentStatus } from './intent-request.ts';
import type { JudgePanelApi } from './judge-panels.ts';
import type { IntentPipeline, WorkflowApi } from './workflow-runs.ts';

/** Goals that a program reaches (W40). */
export interface IntentApi {
  /**
   * Starts the pipeline under the starter's execution id; the same id again finds what was started. Throws `forbidden` for a
   * volume below tier pro, `not_found` for one the tenant does not have, `failed_precondition` for one that is not
   * persistent, `rate_limited`.
   */
  start(request: IntentRequest, starter: Starter): Promise<IntentStarted>;
  /** Throws `not_found` for what is no run of the pipeline. */
  status(viewer: Identity, pipelineExecutionId: string): Promise<IntentStatus>;
}

export interface Started {
  readonly execution_id: string;
  readonly status: 'started';
}

/**
 * Writes manifests from plain words, by the authoring agents that ship with the product (docs/guides/intent.md): each answer is an
 * execution of an agent, which deploys what it wrote by its own tool call. Both always run under `svc-system-default`,
 * whatever the caller's tier (W34), and act as the caller. Throws `rate_limited`.
 */
export interface AuthorApi {
  agent(input: string, starter: Starter): Promise<Started>;
  workflow(input: string, starter: Starter): Promise<Started>;
}

/** Who starts something, and under which id: the same id again finds what was started. */
export interface Starter {
  readonly identity: Identity;
  /** W3C trace id. */
  readonly trace: string;
  /** UUID of the execution. */
  readonly executionId: string;
  readonly signal?: AbortSignal;
}

/** Starts as every surface makes them: looked up as the caller sees it, input checked, tier limits taken. */
export interface Starts {
  agent(
    call: {
      readonly agent: string;
      readonly version?: string;
      readonly input: string;
      readonly context?: JsonObject;
    },
    starter: Starter,
  ): Promise<{ readonly execution_id: string }>;
  workflow(
    call: {
      readonly workflow: string;
      readonly version?: string;
      readonly intent?: string;
      readonly input?: JsonObject;
      readonly blackboard?: JsonObject;
      /** Of a run of svc.execute.intent. */
      readonly pipeline?: IntentPipeline;
      /** What the run takes instead of the deployed manifest, for workflows of the product. */
      readonly adapt?: (manifest: WorkflowManifest) => WorkflowManifest;
    },
    starter: Starter,
  ): Promise<{ readonly execution_id: string }>;
}

/** Tells when something ends. However many wait for one thing, a node looks once. */
export interface EndWaits {
  /**
   * Resolves with true when the execution has ended, false when `timeoutMs` passed first. A wake-up may be lost between
   * nodes, so it looks again each `lookAgainMs`. Throws `not_found`.
   */
  execution(tenant: string, id: string, wait: EndWait): Promise<boolean>;
  workflow(tenant: string, id: string, wait: EndWait): Promise<boolean>;
}

/** What svc.system.* and svc.runtime.list may say of this node. No secret is in it. */
export interface NodeFacts {
  readonly version: string;
  /** Ready to serve. */
  healthy(): Promise<boolean>;
  /** Path of svc.yaml, null when none was read, and the settings in force as YAML; secrets are references. */
  config(): { readonly config_path: string | null; readonly content_yaml: string };
  /** Languages and versions that executions may name here. */
  readonly runtimes: RuntimeTable;
  /** Whether agents with an image of their own can run here. */
  readonly runsImages: boolean;
}

/** The areas behind the management tools (W34–W41). Tools decide nothing themselves: each rule is its area's. */
export interface ManagementPorts {
  readonly agents: AgentCatalog;
  readonly workflows: WorkflowCatalog;
  readonly search: CatalogSearch;
  readonly executions: ExecutionApi;
  readonly runs: WorkflowApi;
  readonly judges: JudgePanelApi;
  readonly starts: Starts;
  readonly waits: EndWaits;
  readonly node: NodeFacts;
  readonly intents: IntentApi;
  readonly authors: AuthorApi;
}

/** Tools are made before the areas are there: a call that comes earlier waits. */
export type LateManagement = () => Promise<ManagementPorts>;

/** Whose eyes see the catalog. */
export const readerOf = ({ tenant, subject }: Identity): CatalogReader => ({ tenant, subject });

/**
 * The caller in the tenant that `tenant_id` names (W33): absent it is its own; another one's is for service
 * accounts that may act for it, and everyone else gets the answer of an unknown thing, `not_found` with the text `missing`.
 */
export function inTenant(identity: Identity, tenantId: string | undefined, missing: string): Identity {
  if (tenantId === undefined || tenantId === identity.tenant) return identity;
  if (!mayActFor(identity, tenantId)) throw new SvcError('not_found', missing);
  return { ...identity, tenant: tenantId };
}

/**
 * Throws `forbidden` unless the caller may change what stands there. A security context says which tools there are, the role
 * of who began it all what may be done with them, as over REST; what is a user's own it may always change.
 */
export function requireChange(identity: Identity, scope: CatalogScope): void {
  if (scope !== 'user') requireRole(identity, 'write');
}

/** Kinds of identities that look with another's eyes: those that act for others. */
const FOR_OTHERS: readonly Identity['kind'][] = ['local', 'operator', 'service_account'];

/** What `user_id` sees (svc.workflow.list): the caller's own by default, another's only for those that act for others. */
export function eyesOf(identity: Identity, userId: string | undefined): CatalogReader {
  if (userId === undefined || userId === identity.subject) return readerOf(identity);
  if (!FOR_OTHERS.includes(identity.kind)) throw new SvcError('not_found', 'user not found');
  return { tenant: identity.tenant, subject: userId };
}

/** What an area answers; null where it refuses with this code. */
export async function unless<T>(code: ErrorCode, answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === code) return null;
    throw thrown;
  }
}
