import { type AuditBody, resultHash } from '../../manifests/audit/record.ts';
import type { CallResult } from './messages.ts';
import { append, callOf, type SessionTurn, type ToolSessionState } from './state.ts';

/** Timer of the session's expiry. */
export const EXPIRY = 'expiry';

/** Cancels and records running calls, then appends the last link. The state drops its calls; their records stay. */
export function close(
  state: ToolSessionState,
  { status, reason }: { readonly status: 'closed' | 'revoked'; readonly reason: string },
  turn: SessionTurn,
): ToolSessionState {
  let open = state;
  for (const [call, { effect_id, mode, tool }] of Object.entries(state.running)) {
    turn.cancelEffect(effect_id);
    const result: CallResult = {
      kind: 'failed',
      code: 'cancelled',
      message: `${tool} was stopped: the session is closed, ${reason}`,
    };
    // A cancelled call may have acted.
    open = recordEnd(open, { call, result, outcome: mode === 'once' ? 'in_doubt' : 'failed' }, turn);
  }
  turn.clear(EXPIRY);
  return append({ ...open, status, grant: null, calls: {}, running: {} }, { kind: 'closed', reason }, turn);
}

/** A passing limit, and nothing ran: the same call may be tried again. */
const PASSES = 'RateLimitExceeded';

interface Ending {
  readonly call: string;
  readonly result: CallResult;
  readonly outcome: Extract<AuditBody, { kind: 'ended' }>['outcome'];
}

/** Removes a call from the running ones and appends its end. */
export function recordEnd(
  state: ToolSessionState,
  { call, result, outcome }: Ending,
  turn: SessionTurn,
): ToolSessionState {
  const { [call]: _over, ...running } = state.running;
  const appended = append(
    state,
    {
      kind: 'ended',
      call,
      outcome,
      error: errorOf(result),
      result_hash: result.kind === 'outcome' ? resultHash(result.outcome) : null,
    },
    turn,
    result,
  );
  const status = result.kind === 'denied' && result.reason === PASSES ? ('deferred' as const) : ('ended' as const);
  const payload = callOf(state, call)?.payload ?? '';
  const { sequence } = appended.chain;
  return {
    ...appended,
    running,
    calls: { ...appended.calls, [call]: { payload, status, sequence } },
    counts: { ...appended.counts, denied: appended.counts.denied + (result.kind === 'denied' ? 1 : 0) },
  };
}

export function auditOutcome(result: CallResult): Ending['outcome'] {
  if (result.kind !== 'outcome') return 'failed';
  if (result.outcome.error?.code === 'in_doubt') return 'in_doubt';
  return result.outcome.is_error ? 'failed' : 'succeeded';
}

function errorOf(result: CallResult): string | null {
  if (result.kind === 'denied') return result.reason;
  if (result.kind === 'failed') return result.code;
  if (!result.outcome.is_error) return null;
  return result.outcome.error?.code ?? 'error';
}
