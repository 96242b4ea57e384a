import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import { isObject, type JsonObject, listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { readObject } from '../read-input.ts';

/** Longer than any tool takes. */
const CALL_TIMEOUT_MS = 660_000;

/** `svc tools call NAME --args JSON`: any tool you may use; its failure is the exit code. */
export function toolsCall(tools: Command): void {
  tools
    .command('call')
    .description('call a tool you may use')
    .argument('<name>', 'such as svc.agent.list')
    .option('--args <json>', 'its arguments, a JSON object; @FILE reads a file, - standard input', '{}')
    .action(async (name: string, options: { args: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const json = await readObject(options.args, '--args');
      const path = `/v1/tools/${encodeURIComponent(name)}`;
      const result = await client.json('POST', path, { json, timeoutMs: CALL_TIMEOUT_MS });
      const text = textsOf(result);
      if (result.isError !== true) return print(output, { value: result, text });
      if (output === 'json' || output === 'yaml') await print(output, { value: result });
      const [first = '', ...rest] = text.split('\n');
      throw new CliFailure(exitCodeOfTool(result), first, rest);
    });
}

const textsOf = (result: JsonObject): string =>
  listOf(result, 'content')
    .map((part) => (part.type === 'text' ? textOf(part, 'text') : JSON.stringify(part)))
    .join('\n');

/** Codes of tools that failed, by what they mean to a script. */
const EXIT_CODES: readonly (readonly [RegExp, ExitCode])[] = [
  [/^(not_found|NOT_FOUND|ToolNotAvailable)$/, EXIT.notFound],
  [/^(invalid_|unsupported_|validation_failed$|payload_too_large$|Invalid)/, EXIT.validation],
  [/^(forbidden|PERMISSION_DENIED|PathOutsideBoundary|PathTraversalAttempt|\w+NotAllowed)$/, EXIT.permission],
  [/^(conflict|failed_precondition|cortex_not_configured|ALREADY_EXISTS)$/, EXIT.conflict],
  [/^(RateLimitExceeded|ConcurrentExecLimitExceeded|unavailable|deadline_exceeded)$/, EXIT.connection],
];

function exitCodeOfTool(result: JsonObject): ExitCode {
  const { structuredContent } = result;
  const { error } = isObject(structuredContent) ? structuredContent : {};
  const code = textOf(error, 'code') || (/^(\w+):/.exec(textsOf(result))?.[1] ?? '');
  return EXIT_CODES.find(([pattern]) => pattern.test(code))?.[1] ?? EXIT.internal;
}
