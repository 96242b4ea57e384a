import type { ToolOutcome } from '../../../manifests/tool/call.ts';
import {
  type CommandFailure,
  commandNotFound,
  commandTooLong,
  commandTooMuch,
  storedContent,
  textContent,
} from '../../../manifests/tool/contract.ts';
import type { DispatchEnded } from '../messages.ts';
import { type AllowedCall, LOOP } from './state.ts';

/** The limits of a dispatched command: those of its grant, else the defaults. */
export const ceilings = (allowed: AllowedCall | null) => ({
  timeout_secs: allowed?.limits.command?.timeout_secs ?? LOOP.dispatchSecs,
  max_output_bytes: allowed?.limits.command?.max_output_bytes ?? LOOP.dispatchOutputBytes,
});

/** Command and arguments of the call, which the policy has checked. Empty where they are missing. */
export function dispatchedCommand(allowed: AllowedCall | null) {
  const { command, args } = allowed?.arguments ?? {};
  return {
    command: typeof command === 'string' ? command : '',
    args: Array.isArray(args) ? args.filter((arg) => typeof arg === 'string') : [],
  };
}

/** The same answer as `cmd.run` gives on a node: an exit code is a result, an exceeded limit is an error (W44). */
export function commandOutcome(allowed: AllowedCall | null, end: DispatchEnded): ToolOutcome {
  const { exit_code, duration_ms, stdout, stderr, stored } = end;
  const failure = dispatchFailureOf(allowed, end);
  if (failure !== null) {
    const { code, message } = failure;
    const content = textContent(`${code}: ${message}`);
    return { content, is_error: true, error: { code, class: 'recoverable', message }, duration_ms };
  }
  if (stored !== undefined) {
    const { head, ...kept } = stored;
    return { content: storedContent(head), stored: kept, is_error: false, duration_ms };
  }
  const structured = { stdout, stderr, exit_code };
  return { content: textContent(JSON.stringify(structured)), structured, is_error: false, duration_ms };
}

function dispatchFailureOf(allowed: AllowedCall | null, end: DispatchEnded): CommandFailure | null {
  const { exit_code, duration_ms, stderr } = end;
  const { timeout_secs, max_output_bytes } = ceilings(allowed);
  const { command } = dispatchedCommand(allowed);
  if (exit_code === -1 && duration_ms >= timeout_secs * 1_000) return commandTooLong(timeout_secs, end);
  if (end.truncated) return commandTooMuch(max_output_bytes, end);
  return exit_code === 127 && stderr === `command_not_found:${command}` ? commandNotFound(command) : null;
}
