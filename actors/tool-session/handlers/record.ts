import type { z } from 'zod';
import { append, appendRefusal, type SessionTurn } from '../appending.ts';
import type { Record as RecordMessage, Refuse as RefuseMessage } from '../messages.ts';
import type { ToolSessionState } from '../state.ts';

/** A call of an execution's inner loop, decided or ended. Begin and end of the chain are this actor's own. */
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

/** A refused envelope whose token claimed this session; a closed chain takes none. */
export function Refuse(
  state: ToolSessionState,
  refusal: z.output<typeof RefuseMessage>,
  turn: SessionTurn,
): ToolSessionState {
  turn.reply({});
  return state.status === 'active' ? appendRefusal(state, refusal, turn) : state;
}
