import type { ToolOutcome } from '../../manifests/tool/call.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { AgentClaims, RefusedEnvelope, SealEnvelope, SealEnvelopes, VerifiedCall } from '../../security/api.ts';
import { startsRun } from '../starts/admission.ts';
import type { InvokeAnswer } from '../tool-sessions.ts';
import {
  brokenCall,
  deniedCall,
  REFUSED,
  SESSION_INACTIVE,
  type SealCall,
  type SealCaller,
  type SealParts,
} from './parts.ts';

/** An MCP tool result. */
interface ToolResult {
  readonly content: ToolOutcome['content'];
  readonly structuredContent?: NonNullable<ToolOutcome['structured']>;
  readonly isError: boolean;
}

export type RpcId = string | number | null;

/** The result of a call, before a transport puts it into its own format. */
type Invoked =
  | {
      readonly ok: true;
      readonly response: { readonly jsonrpc: '2.0'; readonly id: RpcId; readonly result: ToolResult };
    }
  | { readonly ok: false; readonly id: RpcId; readonly error: SvcError };

interface InvokeParts extends Pick<SealParts, 'admission'> {
  readonly envelopes: Pick<SealEnvelopes, 'open'>;
  readonly sessions: Pick<SealParts['sessions'], 'invoke' | 'refuse'>;
}

/**
 * Makes one tool call from an envelope (G13, H16): opens the envelope, then makes the call in its session. Both
 * transports share this function. A failure that a tool reports is a successful answer with `isError`. Never throws.
 */
export async function invokeTool(parts: InvokeParts, envelope: SealEnvelope, call: SealCall): Promise<Invoked> {
  let id: RpcId = null;
  try {
    const opened = await parts.envelopes.open(envelope);
    if (!opened.ok) {
      id = opened.rpcId;
      throw await refusalOf(parts, opened);
    }
    id = opened.call.rpc.id;
    return { ok: true, response: { jsonrpc: '2.0', id, result: await resultOf(parts, opened.call, call) } };
  } catch (thrown) {
    return { ok: false, id, error: toSvcError(thrown) };
  }
}

/**
 * Checks the token of an envelope before its payload is parsed. The audit chain records a refused envelope with the
 * hash of its texts. Throws `unauthenticated`, `invalid_argument` and `unavailable`.
 */
export async function requireToken(
  parts: { readonly envelopes: Pick<SealEnvelopes, 'checkToken'> } & Pick<InvokeParts, 'sessions'>,
  texts: Omit<SealEnvelope, 'payload'>,
): Promise<void> {
  const refused = await parts.envelopes.checkToken(texts);
  if (refused !== null) throw await refusalOf(parts, refused);
}

/**
 * Records a body that no transport could parse as an envelope in the audit chain of the session that its token claims,
 * like any other refused envelope. Its hash covers the fields that are text; all others count as empty.
 */
export async function noteMalformed(parts: InvokeParts, body: unknown): Promise<void> {
  const fields = new Map<string, unknown>(typeof body === 'object' && body !== null ? Object.entries(body) : []);
  const text = (field: string): string => {
    const value = fields.get(field);
    return typeof value === 'string' ? value : '';
  };
  const opened = await parts.envelopes.open({
    protocol: text('protocol'),
    security_token: text('security_token'),
    signature: text('signature'),
    payload: new Uint8Array(),
    timestamp: text('timestamp'),
  });
  if (!opened.ok) await refusalOf(parts, opened);
}

/** Records a refused envelope in the audit chain of the session that it claims, and returns the error for it. */
async function refusalOf(parts: Pick<InvokeParts, 'sessions'>, refused: RefusedEnvelope): Promise<SvcError> {
  const { claimed, envelopeHash, refusal, message } = refused;
  if (claimed !== null) await noteRefusal(parts, claimed, { envelopeHash, reason: refusal });
  return new SvcError(REFUSED[refusal], message);
}

async function resultOf(parts: InvokeParts, verified: VerifiedCall, call: SealCall): Promise<ToolResult> {
  const { claims, envelopeHash, payloadHash, rpc } = verified;
  const { tenant, sessionId } = claims;
  if (call.caller !== null && !reaches(call.caller, claims)) {
    await noteRefusal(parts, claims, { envelopeHash, reason: 'bearer_of_another' });
    throw deniedCall({ reason: SESSION_INACTIVE, message: 'the session is not active' });
  }
  const made = { call: textOf(rpc.id), tool: rpc.tool, arguments: rpc.arguments, envelopeHash, payloadHash };
  const options = { trace: call.trace, ...(call.signal === undefined ? {} : { signal: call.signal }) };
  const begun = rpc.tool !== null && startsRun(rpc.tool) ? parts.admission?.enter() : undefined;
  try {
    return mcpResult(await callOutcome(parts.sessions.invoke(tenant, sessionId, made, options)));
  } finally {
    begun?.();
  }
}

/** Whether the caller may act in the session of these claims at all. */
const reaches = ({ tenant, verified, executionId }: SealCaller, claims: AgentClaims): boolean =>
  !verified || (tenant === claims.tenant && (executionId === undefined || executionId === claims.executionId));

/** Records the attempt in the audit chain. A store that is unavailable does not change the refusal. */
async function noteRefusal(
  { sessions }: Pick<InvokeParts, 'sessions'>,
  { tenant, sessionId }: { readonly tenant: string; readonly sessionId: string },
  refusal: { readonly envelopeHash: string; readonly reason: string },
): Promise<void> {
  try {
    await sessions.refuse(tenant, sessionId, refusal);
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.row.kind === 'retry') return;
    throw thrown;
  }
}

const textOf = (id: string | number): string => (typeof id === 'number' ? `n:${id}` : `s:${id}`);

const mcpResult = ({ content, structured, is_error }: ToolOutcome): ToolResult => ({
  content,
  ...(structured === undefined ? {} : { structuredContent: structured }),
  isError: is_error,
});

/**
 * Resolves with the tool's result in its session, including a failure that the tool reports. Throws the error of the
 * error table for a call that was denied, that has no open session, or that could not be made (H16).
 */
export async function callOutcome(asked: Promise<InvokeAnswer>): Promise<ToolOutcome> {
  const answer = await answered(asked);
  switch (answer.kind) {
    case 'outcome':
      return answer.outcome;
    case 'denied':
      throw deniedCall(answer);
    case 'inactive':
      throw deniedCall({ reason: SESSION_INACTIVE, message: answer.message });
    case 'invalid_request':
      throw new SvcError('invalid_argument', answer.message);
  }
}

async function answered(asked: Promise<InvokeAnswer>): Promise<InvokeAnswer> {
  try {
    return await asked;
  } catch (thrown) {
    throw brokenCall(toSvcError(thrown));
  }
}

/** The answer of `svc.tools.list` (W39). */
interface ListedTools {
  readonly tool: 'svc.tools.list';
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly source: 'builtin' | 'mcp';
    readonly skip_judge: boolean;
    /** JSON Schema of its arguments. */
    readonly input_schema: Readonly<Record<string, unknown>>;
  }[];
  readonly total: number;
}

/**
 * Lists the tools of a session for the agent whose security token it is. Throws `unauthenticated` for a bad token,
 * `forbidden` when the session is closed.
 */
export async function listedTools(
  { tokens, sessions }: Pick<SealParts, 'tokens' | 'sessions'>,
  token: string | undefined,
): Promise<ListedTools> {
  if (token === undefined) throw new SvcError('unauthenticated', 'The security token of an attested agent is needed.');
  const { tenant, sessionId } = await tokens.verify(token);
  const offers = await ofSession(sessions.tools(tenant, sessionId));
  const tools = offers.map(({ name, description, source, skip_judge, input_schema }) => ({
    name,
    description,
    source,
    skip_judge,
    input_schema,
  }));
  return { tool: 'svc.tools.list', tools, total: tools.length };
}

async function ofSession<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (thrown) {
    const isOver = thrown instanceof SvcError && (thrown.code === 'not_found' || thrown.code === 'failed_precondition');
    if (isOver) throw new SvcError('forbidden', 'the session is not active', { cause: thrown });
    throw thrown;
  }
}
