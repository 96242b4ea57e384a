import type { ToolOutcome } from '../manifests/tool/call.ts';
import type { ToolGrant } from '../manifests/tool/scope.ts';
import type { Identity } from '../runtime/identity.ts';
import type { JsonObject } from '../runtime/json.ts';
import type { Random } from '../runtime/random.ts';
import { type AuditedCall, type AuditedEnd, audited, type OperationAudit } from '../security/api.ts';
import { hashInTurns } from './large-values.ts';
import type { ToolGranter } from './ports/tool-granter.ts';
import { needsExecution } from './ports/tool-granter.ts';
import type { Admission } from './starts/admission.ts';
import { startsRun } from './starts/admission.ts';
import type { InvokeAnswer, ToolSessionApi } from './tool-sessions.ts';

export interface Caller {
  readonly identity: Identity;
  /** W3C trace id of the request. */
  readonly trace: string;
  /** Aborts when the client disconnects; the call itself continues. */
  readonly signal: AbortSignal;
}

interface CallerCall {
  /** The transport that the call came through. */
  readonly source: 'mcp' | 'rest';
  readonly tool: string;
  readonly arguments: unknown;
  /** Id of the call in its session, as text with the JSON-RPC type: `n:1`, `s:abc`. */
  readonly call: string;
  /** The caller's tools, when the transport has read them already. */
  readonly grant?: ToolGrant;
}

export interface CallerAnswer {
  readonly answer: InvokeAnswer;
  /** Whether the caller may use the tool under this exact name. */
  readonly isOffered: boolean;
}

export const TOOL_NAME_CHARS = 200;

/**
 * Makes one tool call in a tool session of its own, so that the call is decided, recorded and chained like every other
 * one. Throws the errors of the granter and of the sessions, `overloaded` for a tool that starts a run,
 * `deadline_exceeded` when the call's time is over, and the reason of `caller.signal` when it aborts.
 */
export async function callTool(parts: CallerToolParts, caller: Caller, call: CallerCall): Promise<CallerAnswer> {
  const leave = startsRun(call.tool) ? parts.admission?.enter() : undefined;
  try {
    const { sessionId, isOffered, reads } = await openedFor(parts, caller, call);
    // A call that only waits needs nothing of this function, so it is not awaited.
    if (reads && leave === undefined) return answerWith(isOffered, invoked(parts, caller, call, sessionId));
    const invoke = () => invoked(parts, caller, call, sessionId);
    return { answer: await (reads ? invoke() : recorded(parts, caller, call.tool, invoke)), isOffered };
  } finally {
    leave?.();
  }
}

const answerWith = (isOffered: boolean, invoking: Promise<InvokeAnswer>): Promise<CallerAnswer> =>
  invoking.then((answer) => ({ answer, isOffered }));

/**
 * The part of a call that stays in memory while it waits. Thousands of calls wait at once, and a grant may list a
 * thousand tools.
 */
interface Opened {
  readonly sessionId: string;
  readonly isOffered: boolean;
  readonly reads: boolean;
}

async function openedFor(
  parts: CallerToolParts,
  { identity, trace, signal }: Caller,
  { source, tool, grant: known }: CallerCall,
): Promise<Opened> {
  const grant = known ?? (await callerGrant(parts, identity));
  const sessionId = parts.random.uuid();
  const session = {
    session_id: sessionId,
    source,
    subject: subjectOf(identity, sessionId),
    grant: grantFor(grant, tool),
    public_key: null,
    expires_at: null,
  };
  await parts.sessions.open(identity.tenant, session, { identity, trace, signal, isFirst: true });
  const offer = grant.tools.find(({ name }) => name === tool);
  return { sessionId, isOffered: offer !== undefined, reads: offer?.reads === true };
}

async function invoked(
  parts: CallerToolParts,
  { identity, trace, signal }: Caller,
  { tool, arguments: given, call }: CallerCall,
  sessionId: string,
): Promise<InvokeAnswer> {
  const payloadHash = await hashInTurns({ tool, arguments: given });
  const made = { call, tool, arguments: given, envelopeHash: null, payloadHash, last: true };
  const resultWithinMs = parts.callTimeoutMs ?? CALL_TIMEOUT_MS;
  return parts.sessions.invoke(identity.tenant, sessionId, made, { identity, trace, signal, resultWithinMs });
}

/** Calls a tool that may change something, with its entries in the audit of operations. */
async function recorded(
  { audit }: Pick<CallerToolParts, 'audit'>,
  { identity, trace }: Caller,
  tool: string,
  invoke: () => Promise<InvokeAnswer>,
): Promise<InvokeAnswer> {
  if (audit === undefined) return invoke();
  const call: AuditedCall = {
    operation: 'tools.call',
    caller: identity,
    target: tool,
    trace,
    via: 'tool',
    address: null,
  };
  return audited(audit, call, invoke, { endOf: endOfAnswer });
}

function endOfAnswer(answer: InvokeAnswer): AuditedEnd {
  switch (answer.kind) {
    case 'outcome':
      return answer.outcome.is_error ? { outcome: 'failed', error: 'tool_failed', reason: null } : { outcome: 'ok' };
    case 'denied':
      return { outcome: 'denied', error: 'forbidden', reason: answer.reason };
    default:
      return { outcome: 'failed', error: answer.kind, reason: null };
  }
}

/**
 * Reduces the grant to the one tool of the call: a grant may hold a thousand schemas, and each turn writes the
 * session's state. A name that the grant does not list gets the whole grant, since only the policy can resolve an
 * alias.
 */
function grantFor(grant: ToolGrant, tool: string): ToolGrant {
  const called = grant.tools.filter(({ name }) => name === tool);
  return called.length === 0 ? grant : { ...grant, tools: called };
}

/** The subject of the session. It has no execution, so it has no mounts and no tools that run where an agent runs. */
const subjectOf = ({ kind, subject, roles, tier, tenants }: Identity, sessionId: string) => ({
  execution_id: null,
  agent_id: null,
  session_id: sessionId,
  principal: { kind, subject, roles, tier, ...(tenants === undefined ? {} : { tenants }) },
  mounts: [],
  isolation: 'process' as const,
});

/**
 * The tools of a caller: the grant of the granter without the tools that need an execution, even if the granter included some.
 */
export async function callerGrant(
  { granter }: Pick<CallerToolParts, 'granter'>,
  identity: Identity,
): Promise<ToolGrant> {
  const grant = await granter.callerGrant(identity);
  return { ...grant, tools: grant.tools.filter((offer) => !needsExecution(offer)) };
}

/** The parts that `callTool` needs. */
export interface CallerToolParts {
  readonly granter: Pick<ToolGranter, 'callerGrant' | 'outputSchema'>;
  readonly sessions: Pick<ToolSessionApi, 'open' | 'invoke'>;
  /** Absent: calls that start a run are never refused as `overloaded`. */
  readonly admission?: Pick<Admission, 'enter'>;
  /** Records calls of tools that change something. Absent: none is recorded. */
  readonly audit?: OperationAudit | undefined;
  readonly random: Random;
  /** Longest wait for a call's result, ms. Default 640,000: longer than any tool takes. */
  readonly callTimeoutMs?: number;
}

const CALL_TIMEOUT_MS = 640_000;

/** An MCP tool result: texts, the structured object if the tool has one, and the error if the tool failed. */
interface CallerResult {
  readonly content: ToolOutcome['content'];
  readonly structuredContent?: JsonObject;
  readonly isError: boolean;
}

export function resultOf({ content, structured, is_error, error }: ToolOutcome): CallerResult {
  const structuredContent = structured ?? (error === undefined ? undefined : { error });
  return { content, ...(structuredContent === undefined ? {} : { structuredContent }), isError: is_error };
}
