import type { z } from 'zod';
import type { SessionTurn } from '../appending.ts';
import { close } from '../closing.ts';
import type { Close as CloseMessage } from '../messages.ts';
import type { ToolSessionState } from '../state.ts';

const isOver = ({ status }: ToolSessionState): boolean => status === 'closed' || status === 'revoked';

/** → closed: its execution has ended. Before it was opened, too: then it cannot be opened any more. */
export function Close(
  state: ToolSessionState,
  { reason }: z.output<typeof CloseMessage>,
  turn: SessionTurn,
): ToolSessionState {
  turn.reply({ status: isOver(state) ? state.status : 'closed' });
  return isOver(state) ? state : close(state, { status: 'closed', reason }, turn);
}

/**
 * → revoked, by an operator. One that is closed stays what it is. That of an execution's own loop is refused: its calls
 * would go on, and none would be on record.
 */
export function Revoke(
  state: ToolSessionState,
  { reason }: z.output<typeof CloseMessage>,
  turn: SessionTurn,
): ToolSessionState {
  if (state.session?.source === 'inner_loop' && !isOver(state)) {
    return turn.refuse('failed_precondition', 'the session is of the execution itself: cancel the execution instead');
  }
  turn.reply({ status: isOver(state) ? state.status : 'revoked' });
  return isOver(state) ? state : close(state, { status: 'revoked', reason }, turn);
}

/** → closed: its token is not valid any more. */
export function Expired(state: ToolSessionState, _message: object, turn: SessionTurn): ToolSessionState {
  return isOver(state) ? state : close(state, { status: 'closed', reason: 'expired' }, turn);
}
