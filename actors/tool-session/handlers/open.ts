import { z } from 'zod';
import { ToolOutcome } from '../../../manifests/tool/call.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { ERRORS } from '../../../runtime/errors.ts';
import { auditOutcome, close, EXPIRY, recordEnd } from '../closing.ts';
import type {
  CallResult,
  Close as CloseMessage,
  Open as OpenMessage,
  Record as RecordMessage,
  Refuse as RefuseMessage,
} from '../messages.ts';
import { append, appendRefusal, type SessionTurn, sessionOf, type ToolSessionState, timeOf } from '../state.ts';

/** new → active. Repeating it changes nothing; a session that was closed before it opened stays closed. */
export function Open(state: ToolSessionState, open: z.output<typeof OpenMessage>, turn: SessionTurn): ToolSessionState {
  const { session_id, subject, grant } = open;
  if (state.status === 'closed' || state.status === 'revoked') {
    return turn.refuse('failed_precondition', 'the session is closed: its execution has ended');
  }
  if (state.status === 'active') {
    const same = state.session?.source === open.source && state.session.public_key === open.public_key;
    if (!same) return turn.refuse('conflict', 'the session id is in use for another session');
    turn.reply({ session_id });
    return state;
  }
  turn.reply({ session_id });
  if (open.expires_at !== null) {
    turn.after(EXPIRY, Math.max(0, Date.parse(open.expires_at) - turn.now), 'Expired', {});
  }
  const active: ToolSessionState = { ...state, status: 'active', session: sessionOf(open, timeOf(turn)), grant };
  return append(
    active,
    {
      kind: 'opened',
      session_id,
      tenant: turn.tenant,
      execution_id: subject.execution_id,
      agent_id: subject.agent_id,
      source: open.source,
      subject: subject.principal.subject,
      security_context: grant.security_context,
      public_key: open.public_key,
      tools: grant.tools.map(({ name, schema_hash }) => ({ name, schema_hash })),
    },
    turn,
  );
}

const isOver = ({ status }: ToolSessionState): boolean => status === 'closed' || status === 'revoked';

/** → closed: its execution has ended. This may arrive before Open, which is then refused. */
export function Close(
  state: ToolSessionState,
  { reason }: z.output<typeof CloseMessage>,
  turn: SessionTurn,
): ToolSessionState {
  turn.reply({ status: isOver(state) ? state.status : 'closed' });
  return isOver(state) ? state : close(state, { status: 'closed', reason }, turn);
}

/**
 * → revoked, by an operator. A closed session stays closed. For the session of an execution's own loop it is refused: its calls
 * would continue without records.
 */
export function Revoke(
  state: ToolSessionState,
  { reason }: z.output<typeof CloseMessage>,
  turn: SessionTurn,
): ToolSessionState {
  if (state.session?.source === 'inner_loop' && !isOver(state)) {
    return turn.refuse(
      'failed_precondition',
      'the session belongs to the execution itself: cancel the execution instead',
    );
  }
  turn.reply({ status: isOver(state) ? state.status : 'revoked' });
  return isOver(state) ? state : close(state, { status: 'revoked', reason }, turn);
}

/** → closed: its token has expired. */
export function Expired(state: ToolSessionState, _message: object, turn: SessionTurn): ToolSessionState {
  return isOver(state) ? state : close(state, { status: 'closed', reason: 'expired' }, turn);
}

/** Decision or end of a call of an execution's inner loop. Only this actor writes the first and last link. */
export function Record(
  state: ToolSessionState,
  { body }: z.output<typeof RecordMessage>,
  turn: SessionTurn,
): ToolSessionState {
  if (body.kind === 'opened' || body.kind === 'closed') {
    return turn.refuse('invalid_argument', `body.kind: expected a call's record, not ${body.kind}`);
  }
  if (state.status === 'closed' || state.status === 'revoked') {
    return turn.refuse('failed_precondition', 'the chain of a closed session takes no record');
  }
  const { calls, denied } = state.counts;
  const isDecision = body.kind === 'decided';
  const counts = {
    ...state.counts,
    calls: calls + (isDecision ? 1 : 0),
    denied: denied + (isDecision && body.decision === 'denied' ? 1 : 0),
  };
  return append({ ...state, counts }, body, turn);
}

/** A refused envelope whose token names this session; a closed chain takes no records. */
export function Refuse(
  state: ToolSessionState,
  refusal: z.output<typeof RefuseMessage>,
  turn: SessionTurn,
): ToolSessionState {
  turn.reply({});
  return state.status === 'active' ? appendRefusal(state, refusal, turn) : state;
}

const Context = z.object({ call: z.string() });

/**
 * An allowed call has ended: it is recorded, and its callers get the answer. A late result of a finished call changes nothing.
 */
export function ToolEnded(state: ToolSessionState, ended: EffectResult, turn: SessionTurn): ToolSessionState {
  const call = Context.safeParse(ended.context).data?.call;
  const running = call === undefined ? undefined : state.running[call];
  if (call === undefined || running === undefined || running.effect_id !== ended.effectId) return state;
  const result = resultOf(ended.outcome, running.tool);
  const next = recordEnd(state, { call, result, outcome: auditOutcome(result) }, turn);
  return running.last ? close(next, { status: 'closed', reason: 'the call has ended' }, turn) : next;
}

/**
 * A violation that only the running tool can detect, such as a link out of the workspace or a redirect, is a denial like those
 * of policy. An error with a code of the error table is the tool's result (H14).
 */
function resultOf(outcome: EffectResult['outcome'], tool: string): CallResult {
  if (outcome.kind === 'failed') return { kind: 'failed', code: outcome.code, message: outcome.message };
  if (outcome.kind === 'in_doubt') return { kind: 'outcome', outcome: inDoubt(tool) };
  const read = ToolOutcome.safeParse(outcome.value);
  if (!read.success) return { kind: 'failed', code: 'internal', message: `${tool} returned a malformed result` };
  const { error } = read.data;
  if (error?.class !== 'policy' || Object.hasOwn(ERRORS, error.code)) return { kind: 'outcome', outcome: read.data };
  const { code, message, retry_after_ms } = error;
  return { kind: 'denied', reason: code, message, retry_after_ms };
}

function inDoubt(tool: string): ToolOutcome {
  const message = `${tool} had started when its node died; whether it was done is not known, and it was not repeated`;
  return {
    content: [{ type: 'text', text: message }],
    is_error: true,
    error: { code: 'in_doubt', class: 'recoverable', message },
    duration_ms: 0,
  };
}
