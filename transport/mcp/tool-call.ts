import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { CallToolRequest, CallToolResult, RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { ToolOutcome } from '../../manifests/tool/call.ts';
import { asCallOf } from '../../runtime/calls/calls-of-effect.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { isJsonObject, type Json } from '../../runtime/json.ts';
import { callingSpan } from '../../runtime/tracing/trace-context.ts';
import {
  type Caller,
  type CallerAnswer,
  callerGrant,
  callTool as callOf,
  resultOf,
  TOOL_NAME_CHARS,
} from '../../usecases/caller-tools.ts';
import type { InvokeAnswer } from '../../usecases/tool-sessions.ts';
import type { McpParts } from '../rest/parts.ts';
import { INVALID_PARAMS, INVALID_REQUEST, type OnBug, RpcError, rpcErrorOf } from './json-rpc.ts';
import type { McpSdk } from './sdk.ts';
import { toolNamed } from './tool-aliases.ts';

/** A `tools/call` that the SDK has accepted. */
export interface ToolRequest {
  readonly params: CallToolRequest['params'];
  readonly id: RequestId;
}

const JSON_TYPE = /^application\/json\s*(;|$)/i;

/**
 * The request of a `tools/call` that the SDK would accept without doubt; null for every other message, which a server of the SDK
 * answers. Such a server, with its handlers, transport, request and answer, is most of what a call allocates before it waits.
 */
export function plainCall(sdk: McpSdk, headers: IncomingHttpHeaders, message: Json): ToolRequest | null {
  const { accept = '', 'content-type': type = '', 'mcp-protocol-version': version } = headers;
  if (!accept.includes('application/json') || !accept.includes('text/event-stream') || !JSON_TYPE.test(type))
    return null;
  if (version !== undefined && (typeof version !== 'string' || !sdk.protocolVersions.includes(version))) return null;
  if (!isJsonObject(message) || message.method !== 'tools/call') return null;
  const request = sdk.JSONRPCRequestSchema.safeParse(message);
  if (!request.success) return null;
  const call = sdk.CallToolRequestSchema.safeParse(request.data);
  // The SDK refuses tasks, which this server does not have.
  if (!call.success || call.data.params.task !== undefined) return null;
  return { params: call.data.params, id: request.data.id };
}

/**
 * Makes the call of a message; answers its JSON-RPC response. The SDK has no part in it: a call may wait for minutes, and a server
 * of the SDK with its handlers takes a third of what a call that waits costs.
 */
export function answeredCall(
  sdk: McpSdk,
  parts: McpParts,
  caller: Caller,
  request: ToolRequest,
  onBug: OnBug,
): Promise<string> {
  return asResponse(
    inItsTrace(request.params, caller, (of) => callTool(sdk, parts, of, request)),
    request.id,
    onBug,
  );
}

const asResponse = (called: Promise<CallToolResult>, id: RequestId, onBug: OnBug): Promise<string> =>
  called.then(
    (result) => JSON.stringify({ result, jsonrpc: '2.0', id }),
    (thrown: unknown) => {
      const { code, message, data } = rpcErrorOf(thrown, onBug);
      return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } });
    },
  );

/** A message may name its span in `_meta`, which is more precise than the headers of its request. */
export function inItsTrace<T>(
  { _meta }: { readonly _meta?: CallToolRequest['params']['_meta'] },
  caller: Caller,
  work: (caller: Caller) => T,
): T {
  const [traceparent, tracestate] = [textOf(_meta?.traceparent), textOf(_meta?.tracestate)];
  const span = callingSpan(traceparent, tracestate);
  return span === null ? work(caller) : asCallOf(span, () => work({ ...caller, trace: span.trace }));
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const CALL_ID_CHARS = 200;

/** `tools/call`: calls a tool for a caller and answers in the form of MCP. */
export async function callTool(
  sdk: McpSdk,
  parts: McpParts,
  caller: Caller,
  { params, id }: ToolRequest,
): Promise<CallToolResult> {
  const { name, arguments: given = {} } = params;
  if (name.length > TOOL_NAME_CHARS) throw new RpcError(INVALID_PARAMS, 'Unknown tool: the name is too long');
  const grant = await callerGrant(parts, caller.identity);
  const tool = toolNamed(
    name,
    grant.tools.map((one) => one.name),
  );
  const call = { source: 'mcp', tool, arguments: given, call: callId(id), grant } as const;
  return asResult(sdk, tool, callOf(parts, caller, call));
}

const asResult = (sdk: McpSdk, tool: string, called: Promise<CallerAnswer>): Promise<CallToolResult> =>
  called.then(({ answer, isOffered }) => callResult(sdk, answer, isOffered, tool)).catch(refusedCall);

/** The result of a call that was refused or failed. Throws what is an error of the protocol or a bug. */
function refusedCall(thrown: unknown): CallToolResult {
  if (thrown instanceof RpcError) throw thrown;
  const error = toSvcError(thrown);
  if (error.row.kind === 'bug' || !(thrown instanceof SvcError)) throw error;
  return errorResult(error);
}

/** The id with its type, since 1 and "1" are different ids. */
function callId(id: RequestId): string {
  if (typeof id === 'number') return `n:${id}`;
  return `s:${id.length > CALL_ID_CHARS ? hash('sha256', id, 'hex') : id}`;
}

/**
 * Translates the answer of a session for MCP: a denial becomes a result that the model can read. Throws `RpcError` for
 * invalid arguments, and for a tool that the caller is not offered, which counts as unknown here.
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

/**
 * The result of a call that could not be made, for the model to read. Tools call `rate_limited` `RateLimitExceeded`.
 */
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
      // An MCP server behind this one may use content types that this version of MCP does not have.
      return parsed.success ? parsed.data : { type: 'text' as const, text: JSON.stringify(block) };
    }),
  };
}
