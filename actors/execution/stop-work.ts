import { addressOf } from '../../runtime/address.ts';
import { breakOffCalls } from './inner-loop/settle-call.ts';
import type { ExecutionTurn } from './messages.ts';
import type { RunningExecution } from './state.ts';

/** Stops what the running iteration waits for: its effect, its loop, or the judges of its result. */
export function stopWork(running: RunningExecution, reason: string, turn: ExecutionTurn): RunningExecution {
  const { judging, effect_id, memory } = running.current;
  if (memory !== undefined) turn.cancelEffect(memory.effect_id);
  const by = judging?.by;
  if (by?.kind === 'model') turn.cancelEffect(by.effect_id);
  else if (by?.kind === 'panel') cancelPanel(by.panel_id, reason, turn);
  else {
    if (effect_id !== '') turn.cancelEffect(effect_id);
    return stopCalls(running, reason, turn);
  }
  return running;
}

/**
 * Stops what the inner loop waits for: the grant or the model, running calls, and judges of proposed ones. Calls that had
 * begun are on record as ended, those that must not be repeated as in doubt.
 */
export function stopCalls(running: RunningExecution, reason: string, turn: ExecutionTurn): RunningExecution {
  const { loop } = running.current;
  if (loop === undefined) return running;
  if (loop.effect_id !== null) turn.cancelEffect(loop.effect_id);
  for (const { status, effect_id, panel_id } of loop.calls) {
    if (status === 'running' && effect_id !== undefined) turn.cancelEffect(effect_id);
    if (status === 'judging' && panel_id !== undefined) cancelPanel(panel_id, reason, turn);
  }
  return breakOffCalls(running, reason, turn);
}

function cancelPanel(panelId: string, reason: string, turn: ExecutionTurn): void {
  turn.tell(addressOf('judge-panel', turn.tenant, panelId), 'Cancel', { reason });
}
