import { SvcError } from '../../../runtime/errors.ts';
import type { DispatchAnswer, GatewayAnswer, GatewayProblem } from './messages.ts';

/** Content type of answers in this form. */
export const SHELL_ANSWER = 'text/x-shellscript';

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * A value that any POSIX shell reads back as it is: single quotes, and each `'` as `'\''`. Throws `invalid_argument` for
 * NUL, which no variable, argument or path can hold.
 */
export function quoted(field: string, value: string): string {
  if (value.includes('\0')) throw new SvcError('invalid_argument', `${field}: holds a NUL character`, { field });
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

const assign = (name: string, value: string | number): string => `svc_${name}=${quoted(name, String(value))}`;

/**
 * An answer as a script to be sourced (`. FILE`). It sets variables `svc_…` and, for a command, the positional parameters,
 * and does nothing else. Everything that is not a fixed word is quoted. The content of a final answer comes after
 * `return 0`, where no shell reads on: `tail -c "$svc_content_bytes" FILE` prints it exactly.
 */
export function shellAnswer(answer: GatewayAnswer): Buffer {
  if (answer.type === 'dispatch') return Buffer.from(script(dispatchLines(answer)));
  const content = Buffer.from(answer.content);
  const lines = [
    "svc_type='final'",
    assign('tool_calls_executed', answer.tool_calls_executed),
    assign('content_bytes', content.length),
  ];
  return Buffer.concat([Buffer.from(script(lines)), content]);
}

function dispatchLines(answer: DispatchAnswer): string[] {
  const env = Object.entries(answer.env_additions);
  return [
    "svc_type='dispatch'",
    assign('dispatch_id', answer.dispatch_id),
    assign('action', answer.action),
    assign('cwd', answer.cwd),
    assign('timeout_secs', Math.ceil(answer.timeout_secs)),
    assign('max_output_bytes', answer.max_output_bytes),
    assign('env_count', env.length),
    ...env.map(([name, value], index) => assign(`env_${index + 1}`, `${envName(name)}=${value}`)),
    `set -- ${[answer.command, ...answer.args].map((word) => quoted('args', word)).join(' ')}`,
  ];
}

function envName(name: string): string {
  if (ENV_NAME.test(name)) return name;
  throw new SvcError('invalid_argument', 'env_additions: expected names of letters, digits and _');
}

/** An error in the same form; `svc_retry_secs` 0: sending it again will not help. */
export const shellProblem = (problem: GatewayProblem): Buffer =>
  Buffer.from(
    script([
      "svc_type='error'",
      assign('error', problem.error.replaceAll('\0', '')),
      assign('message', problem.message.replaceAll('\0', '')),
      assign('retry_secs', problem.retry_secs),
    ]),
  );

const script = (lines: readonly string[]): string => `${[...lines, 'return 0'].join('\n')}\n`;
