import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { InvokeAnswer } from '../../actors/tool-session/api.ts';
import type { ToolOutcome } from '../../manifests/tool/call.ts';
import type { SvcError } from '../../runtime/errors.ts';
import { resultOf } from '../caller-tools/result.ts';
import { INVALID_PARAMS, INVALID_REQUEST, RpcError } from './rpc-error.ts';
import type { McpSdk } from './sdk.ts';

/**
 * The answer of a session as MCP says it: a denial is a result the model can read. Throws `RpcError` for arguments that
 * break a rule, and for a tool the caller is not offered, which is an unknown one here.
 */
export function callResult(sdk: McpSdk, answer: InvokeAnswer, isOffered: boolean, tool: string): CallToolResult {
  switch (answer.kind) {
    case 'outcome':
      return outcomeResult(sdk, answer.outcome);
    case 'inactive':
      return failure('SessionInactive', answer.message);
    case 'invalid_request':
      throw new RpcError(INVALID_REQUEST, answer.message);
    case 'denied':
      if (answer.reason === 'InvalidArguments') {
        throw new RpcError(INVALID_PARAMS, answer.message, { reason: answer.reason, tool });
      }
      if (!isOffered) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${tool}`, { reason: answer.reason, tool });
      return failure(answer.reason, answer.message, answer.retryAfterMs);
  }
}

/** A call that could not be made, for the model to read: `rate_limited` is what tools call `RateLimitExceeded`. */
export const errorResult = ({ code, message, retryAfterMs }: SvcError): CallToolResult =>
  failure(code === 'rate_limited' ? 'RateLimitExceeded' : code, message, retryAfterMs);

function failure(reason: string, message: string, retryAfterMs?: number): CallToolResult {
  const retry = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
  return {
    content: [{ type: 'text', text: `${reason}: ${message}` }],
    structuredContent: { error: { reason, message, ...retry } },
    isError: true,
  };
}

function outcomeResult(sdk: McpSdk, outcome: ToolOutcome): CallToolResult {
  const { content, ...rest } = resultOf(outcome);
  return {
    ...rest,
    content: content.map((block) => {
      const parsed = sdk.ContentBlockSchema.safeParse(block);
      // A server behind this one may know kinds that MCP of today does not.
      return parsed.success ? parsed.data : { type: 'text' as const, text: JSON.stringify(block) };
    }),
  };
}
