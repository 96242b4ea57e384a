import type { DenialReason } from '../../manifests/tool/decision.ts';
import type { GrantRequest, ToolScope } from '../../manifests/tool/scope.ts';
import type { Identity } from '../../runtime/identity.ts';

/** The security contexts of a node, and who may use which (original-facts 4). */
export interface SecurityContexts {
  /**
   * For an execution: the context it names (absent: `svc-system-agent-runtime`) with its manifest beside it. Throws
   * `forbidden` for a context that its tenant may not use, `not_found` for one that there is not.
   */
  scopeFor(tenant: string, request: GrantRequest): ToolScope;
  /** For a caller without an execution: the context of its kind, tier and roles. Throws `forbidden` for an actor. */
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
