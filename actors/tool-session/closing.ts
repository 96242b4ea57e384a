import { append, type SessionTurn } from './appending.ts';
import { recordEnd } from './ending.ts';
import type { CallResult } from './events.ts';
import type { ToolSessionState } from './state.ts';

/** Timer of a session that ends by itself. */
export const EXPIRY = 'expiry';

/** What runs is stopped and recorded, then the last link is made; calls are forgotten, their records stay. */
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
    // What was stopped half way may have acted.
    open = recordEnd(open, { call, result, outcome: mode === 'once' ? 'in_doubt' : 'failed' }, turn);
  }
  turn.clear(EXPIRY);
  return append({ ...open, status, grant: null, calls: {}, running: {} }, { kind: 'closed', reason }, turn);
}
