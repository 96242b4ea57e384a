import { hash } from 'node:crypto';
import type { CallToolRequest, CallToolResult, RequestId } from '@modelcontextprotocol/sdk/types.js';
import canonicalize from 'canonicalize';
import type { ToolGrant } from '../../manifests/tool/scope.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { callResult, errorResult } from './call-result.ts';
import { usableGrant } from './list-tools.ts';
import { CALL_TIMEOUT_MS, type McpParts } from './parts.ts';
import { INVALID_PARAMS, RpcError } from './rpc-error.ts';
import type { McpSdk } from './sdk.ts';

export interface Caller {
  readonly identity: Identity;
  /** W3C trace id of the request. */
  readonly trace: string;
  /** Aborted when the client is gone; the call itself goes on. */
  readonly signal: AbortSignal;
}

const TOOL_NAME_CHARS = 200;
const CALL_ID_CHARS = 200;

/** `tools/call`: a tool session of its own, so that each call is decided, recorded and chained as every other one. */
export async function callTool(
  sdk: McpSdk,
  parts: McpParts,
  caller: Caller,
  { params, id }: { readonly params: CallToolRequest['params']; readonly id: RequestId },
): Promise<CallToolResult> {
  const { name: tool, arguments: given = {} } = params;
  if (tool.length > TOOL_NAME_CHARS) throw new RpcError(INVALID_PARAMS, 'Unknown tool: the name is too long');
  const { identity, trace } = caller;
  const late = new AbortController();
  const timeoutMs = parts.callTimeoutMs ?? CALL_TIMEOUT_MS;
  const cancelTimer = parts.clock.after(timeoutMs, () =>
    late.abort(new SvcError('deadline_exceeded', `no result within ${timeoutMs} ms; the tool goes on`)),
  );
  const signal = AbortSignal.any([caller.signal, late.signal]);
  try {
    const grant = usableGrant(await parts.desk.callerGrant(identity));
    const sessionId = parts.random.uuid();
    await parts.sessions.open(
      identity.tenant,
      {
        session_id: sessionId,
        source: 'mcp',
        subject: subjectOf(identity, sessionId),
        grant: grantFor(grant, tool),
        public_key: null,
        expires_at: null,
      },
      { identity, trace, signal },
    );
    const answer = await parts.sessions.invoke(
      identity.tenant,
      sessionId,
      {
        call: callId(id),
        tool,
        arguments: given,
        envelopeHash: null,
        payloadHash: hash('sha256', canonicalize({ tool, arguments: given }) ?? 'null', 'hex'),
        last: true,
      },
      { identity, trace, signal },
    );
    const isOffered = grant.tools.some((offer) => offer.name === tool);
    return callResult(sdk, answer, isOffered, tool);
  } catch (thrown) {
    if (thrown instanceof RpcError) throw thrown;
    const error = toSvcError(thrown);
    if (error.row.kind === 'bug' || !(thrown instanceof SvcError)) throw error;
    return errorResult(error);
  } finally {
    cancelTimer();
  }
}

/**
 * What the one call needs: a grant may hold a thousand schemas, and a session's state is written with each turn. Another
 * name of a tool is known by policy alone, so that one has them all.
 */
function grantFor(grant: ToolGrant, tool: string): ToolGrant {
  const called = grant.tools.filter(({ name }) => name === tool);
  return called.length === 0 ? grant : { ...grant, tools: called };
}

/** Without an execution: no mounts, and nothing that runs where an agent runs. */
const subjectOf = ({ kind, subject, roles, tier }: Identity, sessionId: string) => ({
  execution_id: null,
  agent_id: null,
  session_id: sessionId,
  principal: { kind, subject, roles, tier },
  mounts: [],
  isolation: 'process' as const,
});

/** With its type: 1 and "1" are two ids. */
function callId(id: RequestId): string {
  if (typeof id === 'number') return `n:${id}`;
  return `s:${id.length > CALL_ID_CHARS ? hash('sha256', id, 'hex') : id}`;
}
