import type { ScriptRequest } from '../../manifests/agent/workspace-checks.ts';
import type { CallLimits } from '../../manifests/tool/decision.ts';
import type { ToolScope } from '../../manifests/tool/scope.ts';

/** Limits of one script of a validator. */
export interface AllowedScript {
  readonly scope: ToolScope;
  /** Time limit: its own, within the ceiling of the node. */
  readonly timeoutMs: number;
  readonly limits: NonNullable<CallLimits['command']>;
}

/**
 * Decides about a script like about a call of `cmd.run` with it as the command. Throws `forbidden`. Implemented by
 * tools/validation/script-rules.ts.
 */
export type ScriptRules = (
  tenant: string,
  request: Pick<ScriptRequest, 'path' | 'timeout_ms' | 'grant'>,
) => AllowedScript;
