import type { DispatchEnded as DispatchEndedMessage, ExecutionTurn } from '../../messages.ts';
import type { ExecutionState } from '../../state.ts';
import { goOn } from '../calls.ts';
import { commandOutcome } from '../dispatched.ts';
import { LOOP } from '../limits.ts';
import { loopOf, withLoop } from '../loop-of.ts';
import { endCall } from '../settle-call.ts';

/** A bootstrap has run the command of a dispatch. Telling it again is harmless. */
export function DispatchEnded(state: ExecutionState, end: DispatchEndedMessage, turn: ExecutionTurn): ExecutionState {
  if (state.status === 'pending') return turn.refuse('not_found', 'execution not found');
  if (state.status !== 'running') return turn.refuse('failed_precondition', `the execution is ${state.status} already`);
  const looping = loopOf(state);
  const known = looping?.loop.ended_dispatches.includes(end.dispatch_id) === true;
  const call = looping?.loop.calls.find(
    ({ status, dispatch_id }) => status === 'dispatched' && dispatch_id === end.dispatch_id,
  );
  if (looping === null || (call === undefined && !known)) {
    return turn.refuse('failed_precondition', `dispatch_id: no dispatch ${end.dispatch_id} is open`);
  }
  turn.reply({ iteration: state.iteration_count });
  if (call === undefined) return state;
  const ended_dispatches = [...looping.loop.ended_dispatches, end.dispatch_id].slice(-LOOP.endedDispatches);
  const told = withLoop(looping.running, { ended_dispatches });
  return goOn(endCall(told, call, commandOutcome(call.allowed, end), turn), turn);
}
