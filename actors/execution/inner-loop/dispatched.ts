import type { ToolOutcome } from '../../../manifests/tool/call.ts';
import { keepTail } from '../bounded-text.ts';
import type { DispatchResult, GatewayAnswer } from '../dispatch-api.ts';
import { LOOP } from './limits.ts';
import type { AllowedCall, LoopCall } from './state.ts';

type Dispatch = Extract<GatewayAnswer, { readonly type: 'dispatch' }>;

const ceilings = (allowed: AllowedCall | null) => ({
  timeout_secs: allowed?.limits.command?.timeout_secs ?? LOOP.dispatchSecs,
  max_output_bytes: allowed?.limits.command?.max_output_bytes ?? LOOP.dispatchOutputBytes,
});

/** A call that the agent's own bootstrap is to run (original-facts 6.4; `action` is always `exec`). */
export function dispatchOf({ dispatch_id = '', allowed }: LoopCall): Dispatch {
  const { command, args } = allowed?.arguments ?? {};
  return {
    type: 'dispatch',
    dispatch_id,
    action: 'exec',
    command: typeof command === 'string' ? command : '',
    args: Array.isArray(args) ? args.filter((arg) => typeof arg === 'string') : [],
    cwd: '/workspace',
    env_additions: {},
    ...ceilings(allowed),
  };
}

/** As `cmd.run` answers where the node runs it: an exit code is a result, a broken ceiling is an error (spec 3, Command tool). */
export function commandOutcome(allowed: AllowedCall | null, end: DispatchResult): ToolOutcome {
  const { exit_code, duration_ms } = end;
  const { timeout_secs, max_output_bytes } = ceilings(allowed);
  const half = Math.floor(LOOP.resultChars / 2) - 1_000;
  const structured = { stdout: keepTail(end.stdout, half), stderr: keepTail(end.stderr, half), exit_code };
  const content = [{ type: 'text', text: JSON.stringify(structured) }];
  const failed = (code: string, message: string): ToolOutcome => ({
    ...{ content, structured, is_error: true, duration_ms },
    error: { code, class: 'recoverable', message },
  });
  if (exit_code === -1 && duration_ms >= timeout_secs * 1_000) {
    return failed('ExecTimeoutCeilingExceeded', `the command took longer than ${timeout_secs} s and was ended`);
  }
  if (end.truncated) {
    return failed('OutputSizeLimitExceeded', `stdout and stderr have more than ${max_output_bytes} bytes together`);
  }
  return { content, structured, is_error: false, duration_ms };
}
