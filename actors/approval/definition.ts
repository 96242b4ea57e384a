import { defineActor, type Turn } from '../../runtime/define-actor.ts';
import { sees } from '../../runtime/identity.ts';
import {
  type Answer as AnswerMessage,
  ApprovalState,
  type ApprovalUpdate,
  type Ask as AskMessage,
  approvalEvents,
  approvalMessages,
  type PendingApproval,
} from './messages.ts';
import { APPROVALS, projectApproval } from './view.ts';

type ApprovalTurn = Turn<typeof approvalEvents, typeof approvalMessages>;

type Change = Pick<ApprovalUpdate, 'kind' | 'payload' | 'feedback'>;

const EXPIRY = 'expiry';

const timeOf = (turn: ApprovalTurn): string => new Date(turn.now).toISOString();

function notifyAsker({ approval_id, notify }: PendingApproval, change: Change, turn: ApprovalTurn): void {
  const update: ApprovalUpdate = { approval_id, context: notify.context, ...change };
  turn.tell(notify.to, notify.as, update);
}

const subjectOf = ({ approval_id, execution_id, state_name }: PendingApproval) => ({
  approval_id,
  execution_id,
  state_name,
});

/** The fields of a pending approval that stay once it is over. */
function closed({
  status: _was,
  expires_at: _due,
  default_response: _text,
  notify: _asker,
  asked_by: _from,
  ...asked
}: PendingApproval) {
  return asked;
}

const carried = ({ traceContext: context }: ApprovalTurn) => (context === undefined ? {} : { context });

/** new → pending. Repeating the same question changes nothing, whatever has happened to the approval since. */
function Ask(state: ApprovalState, ask: AskMessage, turn: ApprovalTurn): ApprovalState {
  turn.reply({ approval_id: ask.approval_id });
  if (state.status !== 'new') return state;
  const pending: PendingApproval = {
    ...ask,
    status: 'pending',
    created_at: timeOf(turn),
    expires_at: ask.timeout_ms === null ? null : turn.now + ask.timeout_ms,
    asked_by: { message: turn.messageId, trace: turn.trace, ...carried(turn) },
  };
  const { prompt, timeout_ms, created_at } = pending;
  turn.emit('ApprovalRequested', { ...subjectOf(pending), prompt, timeout_ms, requested_at: created_at });
  if (timeout_ms !== null) turn.after(EXPIRY, timeout_ms, 'Expired', {});
  notifyAsker(pending, { kind: 'opened', payload: null, feedback: null }, turn);
  return pending;
}

/** pending → answered. The first answer wins; later ones are refused with `conflict`. */
function Answer(state: ApprovalState, answer: AnswerMessage, turn: ApprovalTurn): ApprovalState {
  const { identity } = turn;
  if (state.status !== 'new' && identity !== null && !sees(identity, state.owner))
    return turn.refuse('not_found', 'request not found');
  if (state.status !== 'pending') {
    return turn.refuse('conflict', `the request was ${state.status} already`);
  }
  // Timers may be late while a node is being replaced, so the turn's time decides.
  if (state.expires_at !== null && turn.now >= state.expires_at) {
    return turn.refuse('conflict', 'the request expired already');
  }
  const { payload, feedback, by } = answer;
  const resolvedAt = timeOf(turn);
  turn.clear(EXPIRY);
  turn.emit('ApprovalAnswered', {
    ...subjectOf(state),
    payload,
    feedback,
    by,
    answered_by: identity?.subject ?? null,
    answered_at: resolvedAt,
  });
  notifyAsker(state, { kind: 'answered', payload, feedback }, turn);
  turn.reply({ approval_id: state.approval_id });
  return { ...closed(state), status: 'answered', payload, feedback, by, identity, resolved_at: resolvedAt };
}

/** pending → expired, with the default response if there is one. */
function Expired(state: ApprovalState, _message: object, turn: ApprovalTurn): ApprovalState {
  if (state.status !== 'pending') return state;
  const { default_response: payload } = state;
  const resolvedAt = timeOf(turn);
  turn.emit('ApprovalExpired', { ...subjectOf(state), default_response: payload, expired_at: resolvedAt });
  notifyAsker(state, { kind: 'expired', payload, feedback: null }, turn);
  return { ...closed(state), status: 'expired', payload, resolved_at: resolvedAt };
}

/** pending → withdrawn. The asker gets no update: it withdrew it itself. */
function Withdraw(state: ApprovalState, _message: object, turn: ApprovalTurn): ApprovalState {
  if (state.status !== 'pending') return state;
  const resolvedAt = timeOf(turn);
  turn.clear(EXPIRY);
  turn.emit('ApprovalWithdrawn', { ...subjectOf(state), withdrawn_at: resolvedAt });
  return { ...closed(state), status: 'withdrawn', resolved_at: resolvedAt };
}

/** One question to a human (H19): pending → answered | expired | withdrawn. A waiting approval takes no memory on any node. */
export const approvalActor = defineActor({
  kind: 'approval',
  version: 2,
  pool: 'system',
  state: ApprovalState,
  // States of version 1 have no owner: every caller of the tenant sees them.
  migrate: (state) => state,
  initial: () => ({ status: 'new' as const }),
  messages: approvalMessages,
  events: approvalEvents,
  creates: ['Ask'],
  finalEvents: ['ApprovalAnswered', 'ApprovalExpired', 'ApprovalWithdrawn'],
  on: { Ask, Answer, Expired, Withdraw },
  view: {
    collection: APPROVALS.name,
    indexes: APPROVALS.indexes,
    open: { status: 'pending' },
    isInFeed: true,
    project: projectApproval,
  },
  done: ({ status }) => status !== 'new' && status !== 'pending',
  isPart: true,
  belongsTo: (state, { tenant }) => (state.status === 'new' ? null : `workflow/${tenant}/${state.execution_id}`),
});
