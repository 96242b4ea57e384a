import type { AgentCatalog, CatalogReader, CatalogScope, CatalogSearch, WorkflowCatalog } from '../catalog/api.ts';
import type { RuntimeTable } from '../manifests/runtime-table/table.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import { type ErrorCode, SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { JsonObject } from '../runtime/json.ts';
import { mayActFor, requireRole } from '../security/api.ts';
import type { ApprovalApi } from './approvals.ts';
import type { ExecutionApi } from './executions.ts';
import type { EndWait } from './fields.ts';
import type { IntentRequest, IntentStarted, IntentStatus } from './intent-request.ts';
import type { JudgePanelApi } from './judge-panels.ts';
import type { TraceApi } from './traces/traces.ts';
import type { WhyApi } from './why/why.ts';
import type { IntentPipeline, WorkflowApi } from './workflow-runs.ts';

/** Runs programs that reach a goal given in plain words (W40). */
export interface IntentApi {
  /**
   * Starts the pipeline under the starter's execution id; a repeat of the same id finds the first start. Throws
   * `forbidden` for a volume below tier pro, `not_found` for a volume that the tenant does not have,
   * `failed_precondition` for one that is not persistent, and `rate_limited`.
   */
  start(request: IntentRequest, starter: Starter): Promise<IntentStarted>;
  /** Throws `not_found` for a run that is not of the pipeline. */
  status(viewer: Identity, pipelineExecutionId: string): Promise<IntentStatus>;
}

export interface Started {
  readonly execution_id: string;
  readonly status: 'started';
}

/**
 * Writes manifests from plain words by the authoring agents that ship with the product (docs/guides/intent.md). Each
 * answer names an execution of such an agent, which deploys the manifest by its own tool call. The agents always run
 * under `svc-system-default`, whatever the caller's tier (W34), and act as the caller. Throws `rate_limited`.
 */
export interface AuthorApi {
  agent(input: string, starter: Starter): Promise<Started>;
  workflow(input: string, starter: Starter): Promise<Started>;
}

/** The caller of a start and the id to start under. A repeat of the same id finds the first start. */
export interface Starter {
  readonly identity: Identity;
  /** W3C trace id. */
  readonly trace: string;
  /** UUID of the execution. */
  readonly executionId: string;
  readonly signal?: AbortSignal;
}

/**
 * Makes starts the way every transport makes them: looks the target up with the caller's visibility, checks the input,
 * applies the tier limits.
 */
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
      /** Set for a run of svc.execute.intent. */
      readonly pipeline?: IntentPipeline;
      /** Changes the deployed manifest for this run; for workflows of the product. */
      readonly adapt?: (manifest: WorkflowManifest) => WorkflowManifest;
    },
    starter: Starter,
  ): Promise<{ readonly execution_id: string }>;
}

/** Waits for the end of executions. A node checks each execution once, however many callers wait for it. */
export interface EndWaits {
  /**
   * Resolves with true when the execution has ended, with false when `timeoutMs` passed first. Checks again every
   * `lookAgainMs`, since a wake-up may be lost between nodes. Throws `not_found`.
   */
  execution(tenant: string, id: string, wait: EndWait): Promise<boolean>;
  workflow(tenant: string, id: string, wait: EndWait): Promise<boolean>;
}

/** The facts about this node that svc.system.* and svc.runtime.list may return. Contains no secret. */
export interface NodeFacts {
  readonly version: string;
  /** Whether the node is ready to serve. */
  healthy(): Promise<boolean>;
  /** The path of svc.yaml, null when none was read, and the settings in force as YAML, with secrets as references. */
  config(): { readonly config_path: string | null; readonly content_yaml: string };
  /** Languages and versions that executions on this node may name. */
  readonly runtimes: RuntimeTable;
  /** Whether agents with an image of their own can run here. */
  readonly runsImages: boolean;
}

/** The areas that the management tools call (W34–W41). Tools only translate: each rule is its area's. */
export interface ManagementPorts {
  readonly agents: AgentCatalog;
  readonly workflows: WorkflowCatalog;
  readonly search: CatalogSearch;
  readonly executions: ExecutionApi;
  readonly runs: WorkflowApi;
  readonly why: WhyApi;
  readonly traces: Pick<TraceApi, 'ofRun' | 'page'>;
  readonly approvals: Pick<ApprovalApi, 'list' | 'answer'>;
  readonly judges: JudgePanelApi;
  readonly starts: Starts;
  readonly waits: EndWaits;
  readonly node: NodeFacts;
  readonly intents: IntentApi;
  readonly authors: AuthorApi;
}

/** Resolves with the areas once they exist. Tools are created before them, so an early call waits. */
export type LateManagement = () => Promise<ManagementPorts>;

/** The reader whose visibility the catalog applies. */
export const readerOf = ({ tenant, subject }: Identity): CatalogReader => ({ tenant, subject });

/**
 * Returns the caller's identity in the tenant that `tenant_id` names (W33); absent means its own. Another tenant is
 * only for service accounts that may act for it: everyone else gets `not_found` with the text `missing`, as for an
 * unknown thing.
 */
export function inTenant(identity: Identity, tenantId: string | undefined, missing: string): Identity {
  if (tenantId === undefined || tenantId === identity.tenant) return identity;
  if (!mayActFor(identity, tenantId)) throw new SvcError('not_found', missing);
  return { ...identity, tenant: tenantId };
}

/**
 * Throws `forbidden` unless the caller may change things of this scope. The security context decides which tools exist
 * for a caller; the caller's role decides what it may change with them, as over REST. A user may always change what
 * belongs to the user.
 */
export function requireChange(identity: Identity, scope: CatalogScope): void {
  if (scope !== 'user') requireRole(identity, 'write');
}

/** Kinds of identities that act for others and may therefore read on their behalf. */
const FOR_OTHERS: readonly Identity['kind'][] = ['local', 'operator', 'service_account'];

/**
 * The reader that `user_id` names (svc.workflow.list): the caller by default, another user only for identities that act
 * for others.
 */
export function eyesOf(identity: Identity, userId: string | undefined): CatalogReader {
  if (userId === undefined || userId === identity.subject) return readerOf(identity);
  if (!FOR_OTHERS.includes(identity.kind)) throw new SvcError('not_found', 'user not found');
  return { tenant: identity.tenant, subject: userId };
}

/** Resolves with the answer, or with null when it fails with this error code. */
export async function unless<T>(code: ErrorCode, answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === code) return null;
    throw thrown;
  }
}
