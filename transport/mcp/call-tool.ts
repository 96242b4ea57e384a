import { hash } from 'node:crypto';
import type { CallToolRequest, CallToolResult, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { type Caller, callTool as callOf, TOOL_NAME_CHARS } from '../caller-tools/call.ts';
import { callResult, errorResult } from './call-result.ts';
import type { McpParts } from './parts.ts';
import { INVALID_PARAMS, RpcError } from './rpc-error.ts';
import type { McpSdk } from './sdk.ts';

const CALL_ID_CHARS = 200;

/** `tools/call`: what a caller calls, its answer as MCP says it. */
export async function callTool(
  sdk: McpSdk,
  parts: McpParts,
  caller: Caller,
  { params, id }: { readonly params: CallToolRequest['params']; readonly id: RequestId },
): Promise<CallToolResult> {
  const { name: tool, arguments: given = {} } = params;
  if (tool.length > TOOL_NAME_CHARS) throw new RpcError(INVALID_PARAMS, 'Unknown tool: the name is too long');
  try {
    const call = { source: 'mcp', tool, arguments: given, call: callId(id) } as const;
    const { answer, isOffered } = await callOf(parts, caller, call);
    return callResult(sdk, answer, isOffered, tool);
  } catch (thrown) {
    if (thrown instanceof RpcError) throw thrown;
    const error = toSvcError(thrown);
    if (error.row.kind === 'bug' || !(thrown instanceof SvcError)) throw error;
    return errorResult(error);
  }
}

/** With its type: 1 and "1" are two ids. */
function callId(id: RequestId): string {
  if (typeof id === 'number') return `n:${id}`;
  return `s:${id.length > CALL_ID_CHARS ? hash('sha256', id, 'hex') : id}`;
}
