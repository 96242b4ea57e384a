import type { CliContext } from './context.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import { isObject, type JsonObject, listOf, textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';
import { print } from './output.ts';
import { watchExecution } from './watch-execution.ts';

/** Longer than the longest timeout of a tool. */
const CALL_TIMEOUT_MS = 660_000;

/** An MCP tool result: `content`, `structuredContent`, `isError`. */
export const callTool = (client: NodeClient, name: string, json: JsonObject): Promise<JsonObject> =>
  client.json('POST', `/v1/tools/${encodeURIComponent(name)}`, { json, timeoutMs: CALL_TIMEOUT_MS });

/** The structured answer of a tool. Throws `CliFailure` when the tool failed. */
export async function structuredOf(client: NodeClient, name: string, json: JsonObject = {}): Promise<JsonObject> {
  const result = await callTool(client, name, json);
  if (result.isError === true) throw toolFailure(result);
  return isObject(result.structuredContent) ? result.structuredContent : {};
}

export const contentText = (result: JsonObject): string =>
  listOf(result, 'content')
    .map((part) => (part.type === 'text' ? textOf(part, 'text') : JSON.stringify(part)))
    .join('\n');

/** The failure of a tool: its text, and the exit code for its error code. */
export function toolFailure(result: JsonObject): CliFailure {
  const [first = '', ...rest] = contentText(result).split('\n');
  const { structuredContent } = result;
  const { error } = isObject(structuredContent) ? structuredContent : {};
  const code = textOf(error, 'code') || (/^(\w+):/.exec(first)?.[1] ?? '');
  return new CliFailure(EXIT_CODES.find(([pattern]) => pattern.test(code))?.[1] ?? EXIT.internal, first, rest);
}

/** Exit codes by error code. */
const EXIT_CODES: readonly (readonly [RegExp, ExitCode])[] = [
  [/^(not_found|NOT_FOUND|ToolNotAvailable)$/, EXIT.notFound],
  [/^(invalid_|unsupported_|validation_failed$|payload_too_large$|Invalid)/, EXIT.validation],
  [/^(forbidden|PERMISSION_DENIED|PathOutsideBoundary|PathTraversalAttempt|\w+NotAllowed)$/, EXIT.permission],
  [/^(conflict|failed_precondition|cortex_not_configured|ALREADY_EXISTS)$/, EXIT.conflict],
  [/^(RateLimitExceeded|ConcurrentExecLimitExceeded|unavailable|deadline_exceeded)$/, EXIT.connection],
];

/** Options of commands that start an execution. */
export interface Shown {
  readonly follow?: true;
  readonly wait?: true;
}

/** Shows an execution that was just started: its id, with `--follow` its events, with `--wait` its result. */
export async function showStarted(context: CliContext, answer: JsonObject, { follow, wait }: Shown): Promise<void> {
  const executionId = textOf(answer, 'execution_id');
  if (!follow && !wait) return print(context.output, { value: answer, text: executionId });
  const show = follow ? (wait ? 'both' : 'events') : 'result';
  if (show === 'result') process.stderr.write(`execution ${executionId}\n`);
  return watchExecution(context, executionId, { after: 0, show });
}
