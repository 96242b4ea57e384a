import { addressOf } from '../../runtime/address.ts';
import type { ExecutionTurn } from './messages.ts';
import type { RunningExecution } from './state.ts';

/** Stops what the running iteration waits for: its effect, or the judges of its result. */
export function stopWork({ current }: RunningExecution, reason: string, turn: ExecutionTurn): void {
  const by = current.judging?.by;
  if (by === undefined) turn.cancelEffect(current.effect_id);
  else if (by.kind === 'model') turn.cancelEffect(by.effect_id);
  else turn.tell(addressOf('judge-panel', turn.tenant, by.panel_id), 'Cancel', { reason });
}
