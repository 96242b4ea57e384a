import { z } from 'zod';
import type { EffectResult } from '../../../runtime/effect.ts';
import { concludeIfDone } from '../concluding.ts';
import { failSeat, type JudgePanelTurn, reseat } from '../seats.ts';
import type { JudgePanelState } from '../state.ts';

const Started = z.object({ agent_id: z.string() });

/** The judge's execution exists, or cannot be had. Its first word may have come before. */
export function JudgeStarted(state: JudgePanelState, result: EffectResult, turn: JudgePanelTurn): JudgePanelState {
  if (state.status !== 'judging') return state;
  const judge = state.seats.findIndex(({ effect_id }) => effect_id === result.effectId);
  const seat = state.seats[judge];
  if (seat?.status !== 'asked') return state;
  const { outcome } = result;
  const started = outcome.kind === 'done' ? Started.safeParse(outcome.value) : undefined;
  if (started?.success === true) {
    const { agent_id } = started.data;
    turn.emit('JudgeAsked', { judge, agent_id, execution_id: seat.execution_id });
    return reseat(state, judge, { status: 'judging', agent_id });
  }
  const code = outcome.kind === 'failed' ? outcome.code : 'internal';
  const reason = outcome.kind === 'failed' ? outcome.message : 'its execution could not be started';
  return concludeIfDone(failSeat(state, judge, { reason: `${code}: ${reason}`, code }, turn), turn);
}
