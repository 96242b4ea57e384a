import type { DenialReason } from '../../manifests/tool/decision.ts';
import type { Capability, GrantRequest, ToolScope } from '../../manifests/tool/scope.ts';
import type { Identity } from '../../runtime/identity.ts';

/** A security context in force: who asks for it may do no more than this. */
export interface ContextRules {
  readonly name: string;
  readonly deny_list: readonly string[];
  readonly capabilities: readonly Capability[];
}

/** The security contexts of a node, and who may use which (W33). */
export interface SecurityContexts {
  /**
   * For an execution of the tenant; absent: `svc-system-agent-runtime`. Throws `forbidden` for a context that its tenant may
   * not use, `not_found` for one that there is not.
   */
  of(tenant: string, name: string | undefined): ContextRules;
  /** For a caller without an execution: by kind, tier and roles. Throws `forbidden` for an actor. */
  ofCaller(identity: Identity): ContextRules;
  /** `of` the context that the execution names, with its manifest beside it. */
  scopeFor(tenant: string, request: GrantRequest): ToolScope;
  /** `ofCaller`, with nothing to narrow it. */
  callerScope(identity: Identity): ToolScope;
}

/** A constraint that does not hold. */
export interface Breach {
  readonly reason: DenialReason;
  /** What was expected, without the tool's name. */
  readonly message: string;
  readonly field?: string;
  /** How far the check came: of several breaches the one that came furthest is told. */
  readonly stage: number;
}

/** Order in which constraints are checked. */
export const STAGE = { path: 1, domain: 2, command: 3, subcommand: 4 } as const;
