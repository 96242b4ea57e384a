import { SvcError } from '../../runtime/errors.ts';
import type { McpServers } from '../../usecases/ports/mcp-servers.ts';
import { type ToolCall, ToolFailure, type WholeOutcome } from '../tool.ts';

export interface McpParts {
  readonly servers: Pick<McpServers, 'call'>;
  /** `spec.mcp_servers[].tool_timeout_seconds` of a server; default 60 s. */
  readonly timeoutMs?: (server: string) => number;
}

const TIMEOUT_MS = 60_000;

/**
 * Calls a tool of an MCP server. A server that is down or too slow is a result the model reads: nobody knows whether the
 * call arrived, so it is never sent twice here.
 */
export async function runMcpTool(parts: McpParts, { run, signal, progress }: ToolCall): Promise<WholeOutcome> {
  const server = run.server ?? '';
  const tool = run.tool.slice(server.length + 1);
  const timeoutMs = parts.timeoutMs?.(server) ?? TIMEOUT_MS;
  const told: Promise<unknown>[] = [];
  const onProgress = (text: string): void => {
    // Progress is a courtesy: one that cannot be told changes nothing about the result.
    told.push(progress({ text: text.slice(0, 2_000) }).catch(() => false));
  };
  try {
    const result = await parts.servers.call(
      { server, tool, arguments: run.arguments, timeoutMs },
      { signal, onProgress },
    );
    await Promise.all(told);
    const { content, structured, isError } = result;
    return {
      content: [...content],
      ...(structured === undefined ? {} : { structured }),
      is_error: isError,
      ...(isError ? { error: { code: 'ToolFailed', class: 'recoverable', message: firstText(content) } } : {}),
    };
  } catch (thrown) {
    throw signal.aborted ? thrown : serverFailure(thrown, run.tool);
  }
}

const firstText = (content: readonly Record<string, unknown>[]): string => {
  const text = content.find((part) => typeof part.text === 'string')?.text;
  return typeof text === 'string' ? text.slice(0, 2_000) : 'the tool reports an error';
};

function serverFailure(thrown: unknown, tool: string): unknown {
  if (!(thrown instanceof SvcError)) return thrown;
  switch (thrown.code) {
    case 'not_found':
      return new ToolFailure('ToolNotAvailable', `${tool} is not there now: use another tool`, 'recoverable', thrown);
    case 'unavailable':
      return new ToolFailure(
        'ToolNotAvailable',
        `${tool}: ${thrown.message}; it may have been done`,
        'recoverable',
        thrown,
      );
    case 'deadline_exceeded':
      return new ToolFailure(
        'TimedOut',
        `${tool} did not answer in time; it may have been done`,
        'recoverable',
        thrown,
      );
    default:
      return new ToolFailure('ToolFailed', `${tool}: ${thrown.message}`, 'recoverable', thrown);
  }
}
