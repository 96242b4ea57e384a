import { type Address, addressOf } from '../../runtime/address.ts';
import type { Turn } from '../../runtime/define-actor.ts';
import { keepHead } from '../execution/bounded-text.ts';
import type { judgePanelEvents } from './events.ts';
import { LIMITS } from './limits.ts';
import type { judgePanelMessages } from './messages.ts';
import type { JudgingPanel, Seat } from './state.ts';

export type JudgePanelTurn = Turn<typeof judgePanelEvents, typeof judgePanelMessages>;

/** Name of a judge's timer. */
export const timerOf = (judge: number): string => `judge-${judge}`;

export const isOpen = ({ status }: Seat): boolean => status === 'asked' || status === 'judging';

/** As results name it. */
export const nameOf = ({ agent_id, agent }: Seat): string => agent_id ?? agent;

export const executionOf = (executionId: string, turn: JudgePanelTurn): Address =>
  addressOf('execution', turn.tenant, executionId);

/** The panel with one seat changed. */
export function reseat(panel: JudgingPanel, judge: number, change: Partial<Seat>): JudgingPanel {
  return { ...panel, seats: panel.seats.map((seat, index) => (index === judge ? { ...seat, ...change } : seat)) };
}

/** Leaves a judge out. What runs of it is stopped. */
export function failSeat(
  panel: JudgingPanel,
  judge: number,
  failure: { readonly reason: string; readonly code?: string; readonly output?: Seat['output'] },
  turn: JudgePanelTurn,
): JudgingPanel {
  const seat = panel.seats[judge];
  if (seat === undefined) return panel;
  const reason = keepHead(failure.reason, LIMITS.reasonChars);
  turn.clear(timerOf(judge));
  turn.emit('JudgeFailed', { judge, agent_id: nameOf(seat), execution_id: seat.execution_id, reason });
  return reseat(panel, judge, {
    status: 'failed',
    reason,
    code: failure.code ?? null,
    output: failure.output ?? null,
  });
}

/**
 * Stops a judge that is not wanted any more. Its start may still be on its way: then its first word is answered with
 * another Cancel.
 */
export function stopSeat(seat: Seat, turn: JudgePanelTurn, reason: string): void {
  if (seat.status === 'asked') turn.cancelEffect(seat.effect_id);
  turn.tell(executionOf(seat.execution_id, turn), 'Cancel', { reason });
}
