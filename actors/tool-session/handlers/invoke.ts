import type { CallLimits, ToolDecision, ToolPolicy } from '../../../manifests/tool/decision.ts';
import { mayRunAhead, type ToolGrant } from '../../../manifests/tool/scope.ts';
import { plainObject } from '../../../runtime/json.ts';
import { close } from '../closing.ts';
import { type Invoke, type Invoke as InvokeMessage, SESSION_LIMITS } from '../messages.ts';
import {
  append,
  appendRefusal,
  callOf,
  replyWith,
  type Session,
  type SessionTurn,
  type ToolSessionState,
} from '../state.ts';

type Allowed = Extract<ToolDecision, { allowed: true }>;

type Denied = Extract<ToolDecision, { allowed: false }>;

/**
 * One call (H14, from the session on): a repeat is answered from the record; a new call is decided and recorded, and begun when
 * policy allows it.
 */
export const invoke =
  (policy: ToolPolicy) =>
  (state: ToolSessionState, call: InvokeMessage, turn: SessionTurn): ToolSessionState => {
    const { session, grant } = state;
    if (state.status !== 'active' || session === null || grant === null) {
      replyWith(turn, { kind: 'inactive', message: inactiveText(state) });
      return state;
    }
    const known = callOf(state, call.call);
    if (known !== undefined && known.payload !== call.payload_hash) {
      return invalid(state, call, turn, 'the id was used for another call of this session');
    }
    if (call.tool === null) return invalid(state, call, turn, 'params.name: expected the name of a tool');
    if (known !== undefined && known.status !== 'deferred') {
      return repeated(state, call, turn, () => decisionText(policy, grant, call));
    }
    if (state.counts.calls >= SESSION_LIMITS.calls) return exhausted(state, call, turn);
    const decision = policy.decide(grant, { name: call.tool, arguments: call.arguments });
    const tooMany = decision.allowed ? concurrencyText(state, decision) : null;
    if (!decision.allowed) return deny(state, { call, decision, status: 'denied' }, turn);
    if (tooMany === null) return allow(state, { call, decision, session, grant }, turn);
    const { offer } = decision;
    const refused: Denied = { allowed: false, reason: 'ConcurrentExecLimitExceeded', message: tooMany, offer };
    return deny(state, { call, decision: refused, status: 'deferred' }, turn);
  };

/** Why the session accepts no calls. */
const inactiveText = ({ status }: ToolSessionState): string =>
  status === 'revoked' ? 'the session was revoked' : 'the session is not active: its execution has ended';

function invalid(state: ToolSessionState, call: InvokeMessage, turn: SessionTurn, message: string): ToolSessionState {
  replyWith(turn, { kind: 'invalid_request', message });
  const { envelope_hash } = call;
  const next = envelope_hash === null ? state : appendRefusal(state, { envelope_hash, reason: message }, turn);
  return call.last === true ? close(next, { status: 'closed', reason: 'the call was refused' }, turn) : next;
}

/** Policy is pure, so it returns the reason of an earlier denial again. */
function decisionText(policy: ToolPolicy, grant: ToolGrant, { tool, arguments: args }: InvokeMessage) {
  const decision = policy.decide(grant, { name: tool ?? '', arguments: args });
  return decision.allowed ? null : decision;
}

function exhausted(state: ToolSessionState, call: InvokeMessage, turn: SessionTurn): ToolSessionState {
  const message = `the session has made the ${SESSION_LIMITS.calls} calls it may make; attest again`;
  replyWith(turn, { kind: 'denied', reason: 'SessionCallLimitExceeded', message });
  const { envelope_hash } = call;
  return envelope_hash === null ? state : appendRefusal(state, { envelope_hash, reason: message }, turn);
}

/** Why one more parallel call is refused; null when it is not. */
function concurrencyText(state: ToolSessionState, { offer, limits }: Allowed): string | null {
  const running = Object.values(state.running);
  if (running.length >= SESSION_LIMITS.running) {
    return `${offer.name}: ${SESSION_LIMITS.running} calls of this session run already`;
  }
  const capability = capabilityOf(offer.name, limits);
  const most = limits.max_concurrent ?? Number.POSITIVE_INFINITY;
  if (running.filter((one) => one.capability === capability).length < most)
    return commandText(state, { offer, limits });
  return `${offer.name}: ${most} calls of this capability run already`;
}

function commandText(state: ToolSessionState, { offer, limits }: Pick<Allowed, 'offer' | 'limits'>): string | null {
  const most = limits.command?.max_concurrent ?? Number.POSITIVE_INFINITY;
  const running = Object.values(state.running).filter(({ tool }) => tool === offer.name).length;
  return running < most ? null : `${offer.name}: ${most} commands of this session run already`;
}

interface Denying {
  readonly call: InvokeMessage;
  readonly decision: Denied;
  readonly status: 'denied' | 'deferred';
}

function deny(state: ToolSessionState, { call, decision, status }: Denying, turn: SessionTurn): ToolSessionState {
  const { reason, message, offer } = decision;
  replyWith(turn, { kind: 'denied', reason, message });
  const next = decided(state, { call, reason, schemaHash: offer?.schema_hash ?? null }, turn);
  const denied: ToolSessionState = {
    ...next,
    calls: { ...next.calls, [call.call]: { payload: call.payload_hash, status, sequence: next.chain.sequence } },
    counts: { ...next.counts, denied: next.counts.denied + 1 },
  };
  return call.last === true ? close(denied, { status: 'closed', reason: 'the call was denied' }, turn) : denied;
}

interface Allowing {
  readonly call: InvokeMessage;
  readonly decision: Allowed;
  readonly session: Session;
  readonly grant: ToolGrant;
}

function allow(state: ToolSessionState, { call, decision, session, grant }: Allowing, turn: SessionTurn) {
  const { offer, limits } = decision;
  const next = decided(state, { call, reason: null, schemaHash: offer.schema_hash }, turn);
  const { sequence } = next.chain;
  replyWith(turn, { kind: 'accepted', sequence, replayed: false });
  const running = {
    effect_id: begin({ call: call.call, decision, session, grant }, turn),
    tool: offer.name,
    mode: offer.mode,
    capability: capabilityOf(offer.name, limits),
    last: call.last === true,
  };
  return {
    ...next,
    calls: { ...next.calls, [call.call]: { payload: call.payload_hash, status: 'running' as const, sequence } },
    running: { ...next.running, [call.call]: running },
  };
}

interface Deciding {
  readonly call: InvokeMessage;
  /** Null: allowed. */
  readonly reason: string | null;
  readonly schemaHash: string | null;
}

function decided(state: ToolSessionState, { call, reason, schemaHash }: Deciding, turn: SessionTurn): ToolSessionState {
  const counted = { ...state, counts: { ...state.counts, calls: state.counts.calls + 1 } };
  return append(
    counted,
    {
      kind: 'decided',
      call: call.call,
      tool: call.tool ?? '',
      envelope_hash: call.envelope_hash,
      payload_hash: call.call_hash,
      decision: reason === null ? 'allowed' : 'denied',
      reason,
      schema_hash: schemaHash,
    },
    turn,
  );
}

/** A repeated call: its record is the answer, and nothing runs. A running call is awaited, as by the first caller. */
function repeated(
  state: ToolSessionState,
  call: Invoke,
  turn: SessionTurn,
  denial: () => { readonly reason: string; readonly message: string } | null,
): ToolSessionState {
  const known = callOf(state, call.call);
  if (known?.status === 'running') {
    replyWith(turn, { kind: 'accepted', sequence: known.sequence, replayed: true });
  } else if (known?.status === 'ended') {
    replyWith(turn, { kind: 'ended', sequence: known.sequence });
  } else {
    const { reason, message } = denial() ?? { reason: 'ToolNotAllowed', message: 'the call was denied before' };
    replyWith(turn, { kind: 'denied', reason, message });
  }
  const { replayed } = state.counts;
  // A captured envelope can be sent any number of times, so the records of repeats are limited.
  if (call.envelope_hash === null || replayed >= SESSION_LIMITS.replays) return state;
  const counted = { ...state, counts: { ...state.counts, replayed: replayed + 1 } };
  return append(counted, { kind: 'replayed', call: call.call, envelope_hash: call.envelope_hash }, turn);
}

/** Tools limit their own time; this limit stops one that does not. */
const LONGEST_MS = 600_000;

const MARGIN_MS = 30_000;

/** Retries of failures before the tool acted, which the effect reports as kind `retry`; so `once` tools may be retried too. */
const RETRY = { maxAttempts: 3, initialDelayMs: 250, maxDelayMs: 2_000 };

/** Calls with the same capability share `max_concurrent`. */
const capabilityOf = (tool: string, limits: CallLimits): string => limits.capability ?? tool;

interface Beginning {
  readonly call: string;
  readonly decision: Extract<ToolDecision, { allowed: true }>;
  readonly session: Session;
  readonly grant: ToolGrant;
}

/** Requests the effect of an allowed call; returns its id. */
function begin({ call, decision, session, grant }: Beginning, turn: SessionTurn): string {
  const { offer, limits } = decision;
  const { tools: _pinned, ceilings: _ceilings, ...scope } = grant;
  const commandMs = (limits.command?.timeout_secs ?? 0) * 1_000;
  const input = {
    tool: offer.name,
    arguments: decision.arguments,
    schema_hash: offer.schema_hash,
    server: offer.server,
    subject: session.subject,
    scope,
    limits,
  };
  return turn.effect({
    kind: 'tool.call',
    mode: offer.mode,
    ahead: mayRunAhead(offer),
    input: plainObject(input),
    replyAs: 'ToolEnded',
    context: { call },
    timeoutMs: Math.max(LONGEST_MS, commandMs) + MARGIN_MS,
    retry: RETRY,
  });
}
