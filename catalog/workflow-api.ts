import type { Finding } from '../manifests/workflow/finding.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import type { Page } from '../runtime/documents/pages.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { CatalogScope, CatalogStatus } from './api.ts';

export type { Finding };

export type WorkflowScope = 'user' | 'tenant' | 'global';

/** Who looks: a user's own workflows come before the tenant's, those before global ones. */
export interface CatalogReader {
  readonly tenant: string;
  /** Subject whose user-scoped workflows are visible; absent: none. */
  readonly subject?: string;
}

/** Workflow summary (spec 3, Tool result records) with what lists show beside it. */
export interface WorkflowEntry {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly initial_state: string;
  readonly scope: WorkflowScope;
  /** Subject, for scope user. */
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
  /** When parsing succeeded. */
  readonly metadata?: { readonly name: string; readonly version: string; readonly initial_state: string };
}

/** Default scope: those of the reader's tenant and its own. Default status: all but archived ones. */
export interface WorkflowFilter {
  readonly scope?: 'global' | 'visible';
  readonly status?: CatalogStatus;
  /** At most 1,000; default 1,000. */
  readonly limit?: number;
  readonly skip?: number;
  readonly pageToken?: string;
}

/** Deployed workflows. The truth is Documents (unique index), written before the answer (design R2). */
export interface WorkflowCatalog {
  /** Checks without deploying, with what is deployed in sight: unknown agents, child cycles and depth. Never throws for bad text. */
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
  /** Newest version by UUID or name, or the given version; throws `not_found`. */
  get(reader: CatalogReader, idOrName: string, version?: string): Promise<DeployedWorkflow>;
  list(reader: CatalogReader, filter?: WorkflowFilter): Promise<Page<WorkflowEntry>>;
  versions(reader: CatalogReader, idOrName: string): Promise<WorkflowEntry[]>;
  /** Throws `failed_precondition` while it runs, unless forced; what runs goes on. */
  delete(
    identity: Identity,
    idOrName: string,
    options?: { readonly force?: boolean },
  ): Promise<{ readonly workflow_id: string }>;
  /** As for agents: WorkflowPaused, WorkflowArchived, WorkflowResumed. */
  setStatus(identity: Identity, idOrName: string, status: CatalogStatus): Promise<WorkflowEntry>;
  /** user → tenant, tenant → global. Throws `forbidden` without the capability, `conflict` when the name is taken there. */
  promote(identity: Identity, idOrName: string, target: 'tenant' | 'global'): Promise<WorkflowEntry>;
  /** global → tenant, tenant → user. */
  demote(identity: Identity, idOrName: string, target: 'tenant' | 'user', userId?: string): Promise<WorkflowEntry>;
}

/**
 * In whose name a run of this goes on: what is started of a user's own (scope user) is that user's own too, and all that is
 * started below it.
 */
export const actingFor = (identity: Identity, { scope }: { readonly scope: CatalogScope }): Identity =>
  scope === 'user' ? { ...identity, confidential: true } : identity;

/**
 * The one check before a run starts, whoever starts it: throws `failed_precondition` naming the status of what is paused
 * or archived. What runs already goes on.
 */
export function requireStartable(found: { readonly name: string; readonly status: CatalogStatus }): void {
  if (found.status === 'deployed') return;
  throw new SvcError('failed_precondition', `${found.name} is ${found.status}: nothing of it can be started`, {
    field: 'status',
  });
}

/** How many executions of an agent or workflow have not ended. Another area knows it (main.ts joins them). */
export interface InUse {
  /** `tenant` null: of all tenants, for what is global. */
  agent(tenant: string | null, id: string): Promise<number>;
  workflow(tenant: string | null, id: string): Promise<number>;
}

/** Where nothing runs: tests, tools without a runtime. */
export const NOT_IN_USE: InUse = { agent: () => Promise.resolve(0), workflow: () => Promise.resolve(0) };
