import type { z } from 'zod';
import type { ToolGrant, ToolOffer } from './scope.ts';

/** Why a call is denied. Answers, audit and the model get the precise reason (W31). */
export const DENIAL_REASONS = [
  'ToolNotAllowed',
  'ToolExplicitlyDenied',
  'InvalidArguments',
  'PathOutsideBoundary',
  'PathTraversalAttempt',
  'DomainNotAllowed',
  'CommandNotAllowed',
  'SubcommandNotAllowed',
  'RateLimitExceeded',
  'ConcurrentExecLimitExceeded',
  /** The tool has changed since the session was opened. */
  'ToolChanged',
  /** A judge rejected the proposed call (W32). */
  'JudgeRejected',
] as const;
export type DenialReason = (typeof DENIAL_REASONS)[number];

/** Limits of an allowed call. */
export interface CallLimits {
  /** Maximum size of its result; a larger one is an error of the tool. */
  readonly max_response_bytes?: number;
  /** Rates over all nodes, in the name of the execution; `key` names the capability or the manifest's entry. */
  readonly rate_limits?: readonly { readonly key: string; readonly calls: number; readonly per_seconds: number }[];
  /** Parallel calls of this capability in one session. */
  readonly max_concurrent?: number;
  /** Pattern of the capability that allowed the call; calls with the same pattern share `max_concurrent`. */
  readonly capability?: string;
  /** cmd.run only: the smaller of the manifest's values and the node's ceilings. */
  readonly command?: {
    readonly timeout_secs: number;
    readonly max_output_bytes: number;
    readonly env_denylist: readonly string[];
    readonly max_concurrent: number;
  };
}

export type ToolDecision =
  | {
      readonly allowed: true;
      readonly offer: ToolOffer;
      /** Checked, with defaults filled in. */
      readonly arguments: Record<string, z.core.util.JSONType>;
      readonly limits: CallLimits;
    }
  | {
      readonly allowed: false;
      readonly reason: DenialReason;
      /** Names the tool, the field and what was expected. */
      readonly message: string;
      /** The argument that has the problem. */
      readonly field?: string;
      /** Present when the tool is known and offered. */
      readonly offer?: ToolOffer;
    };

/**
 * Decides one call (H14: tool name, then arguments, then path, domain and command constraints). Pure: the same grant
 * and call give the same decision, so turns can use it. The process wiring gives it to actors.
 */
export interface ToolPolicy {
  decide(grant: ToolGrant, call: { readonly name: string; readonly arguments: unknown }): ToolDecision;
}
