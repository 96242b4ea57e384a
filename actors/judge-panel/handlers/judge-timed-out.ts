import { concludeIfDone } from '../concluding.ts';
import { failSeat, isOpen, type JudgePanelTurn, stopSeat } from '../seats.ts';
import type { JudgePanelState } from '../state.ts';

/** A judge that is too slow is left out, and stopped. */
export function JudgeTimedOut(
  state: JudgePanelState,
  { judge }: { readonly judge: number },
  turn: JudgePanelTurn,
): JudgePanelState {
  if (state.status !== 'judging') return state;
  const seat = state.seats[judge];
  if (seat === undefined || !isOpen(seat)) return state;
  stopSeat(seat, turn, 'its time as a judge is over');
  const reason = `timed out: no verdict within ${seat.timeout_ms / 1_000} s`;
  return concludeIfDone(failSeat(state, judge, { reason, code: 'deadline_exceeded' }, turn), turn);
}
