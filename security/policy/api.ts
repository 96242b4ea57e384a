import type { DenialReason } from '../../manifests/tool/decision.ts';
import type { Capability, GrantRequest, ToolScope } from '../../manifests/tool/scope.ts';
import type { Identity } from '../../runtime/identity.ts';

/** A security context in force. It limits what its callers may do. */
export interface ContextRules {
  readonly name: string;
  readonly deny_list: readonly string[];
  readonly capabilities: readonly Capability[];
}

/** The security contexts of a node, and which callers may use which (W33). */
export interface SecurityContexts {
  /**
   * The context of an execution of the tenant; default `svc-system-agent-runtime`. Throws `forbidden` for a context that the
   * tenant may not use, `not_found` for an unknown one.
   */
  of(tenant: string, name: string | undefined): ContextRules;
  /** The context of a caller without an execution, by kind, tier and roles. Throws `forbidden` for an actor. */
  ofCaller(identity: Identity): ContextRules;
  /** The scope of an execution: the context that it names (see `of`) and its manifest. */
  scopeFor(tenant: string, request: GrantRequest): ToolScope;
  /** The scope of a caller: the context of `ofCaller`, without a manifest. */
  callerScope(identity: Identity): ToolScope;
}

/** A violated constraint. */
export interface Breach {
  readonly reason: DenialReason;
  /** The expectation that was not met, without the tool's name. */
  readonly message: string;
  readonly field?: string;
  /** The step of the check that failed (`STAGE`). Of several breaches the one with the highest stage is reported. */
  readonly stage: number;
}

/** Order in which constraints are checked. */
export const STAGE = { path: 1, domain: 2, command: 3, subcommand: 4 } as const;
