import type { z } from 'zod';
import type { ToolGrant, ToolOffer } from './scope.ts';

/** Why a call is not run. The precise one is kept in answers, audit and what the model is told (W31). */
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
  /** The tool is not what it was when the session was opened. */
  'ToolChanged',
  /** A judge rejected the proposed call (W32). */
  'JudgeRejected',
] as const;
export type DenialReason = (typeof DENIAL_REASONS)[number];

/** Bounds of a call that was allowed. */
export interface CallLimits {
  /** Of its result; more is an error of the tool. */
  readonly max_response_bytes?: number;
  /** All of them, across nodes, in the name of the execution; `key` names the capability or the manifest's entry. */
  readonly rate_limits?: readonly { readonly key: string; readonly calls: number; readonly per_seconds: number }[];
  /** Calls of this capability at once in one session. */
  readonly max_concurrent?: number;
  /** Pattern of the capability that allowed the call: what `max_concurrent` counts together. */
  readonly capability?: string;
  /** cmd.run only: from the manifest's config and the node's ceilings, the smaller counts. */
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
      /** The argument it is about. */
      readonly field?: string;
      /** Present when the tool is known and offered. */
      readonly offer?: ToolOffer;
    };

/**
 * Decides about one call
 * (H14: tool name allowed, then arguments, then path, domain and command constraints). Pure: the same grant and call get the same decision, so turns use it. Given to actors by main.ts.
 */
export interface ToolPolicy {
  decide(grant: ToolGrant, call: { readonly name: string; readonly arguments: unknown }): ToolDecision;
}
