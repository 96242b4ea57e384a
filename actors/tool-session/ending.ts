import type { AuditBody } from '../../manifests/audit/record.ts';
import { resultHash } from '../../manifests/audit/result-hash.ts';
import { append, type SessionTurn } from './appending.ts';
import type { CallResult } from './events.ts';
import { callOf, type ToolSessionState } from './state.ts';

/** Passes by itself, and nothing ran: the same call may be tried again. */
const PASSES = 'RateLimitExceeded';

export interface Ending {
  readonly call: string;
  readonly result: CallResult;
  readonly outcome: Extract<AuditBody, { kind: 'ended' }>['outcome'];
}

/** Takes a call out of what runs and appends its end. */
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
