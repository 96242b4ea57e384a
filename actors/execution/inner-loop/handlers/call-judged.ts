import type { PanelConcluded } from '../../../judge-panel/messages.ts';
import type { ExecutionTurn } from '../../messages.ts';
import type { ExecutionState } from '../../state.ts';
import { goOn } from '../calls.ts';
import { failLoop } from '../finish.ts';
import { loopOf, withCall } from '../loop-of.ts';
import { denyCall } from '../settle-call.ts';
import { heardOf } from '../tool-judging.ts';

/** The judges of a proposed call. Unheard ones fail the iteration: nobody said that the call may run. */
export function callJudged(state: ExecutionState, word: PanelConcluded, turn: ExecutionTurn): ExecutionState {
  const looping = loopOf(state);
  const call = looping?.loop.calls.find(({ status, panel_id }) => status === 'judging' && panel_id === word.panel_id);
  if (looping === null || call === undefined) return state;
  const { running } = looping;
  const check = running.plan.tool_checks[call.judged];
  if (check === undefined) return state;
  const heard = heardOf(check, word);
  if (heard.kind === 'passed') {
    return goOn(withCall(running, call.key, { status: 'waiting', judged: call.judged + 1 }), turn);
  }
  if (heard.kind === 'unheard') {
    return failLoop(running, { error_type: 'tool_judge_failed', message: `${call.name}: ${heard.reason}` }, turn);
  }
  const denial = {
    reason: 'JudgeRejected',
    message: `the proposed call was not run. ${heard.reason}`,
    schema_hash: call.allowed?.offer.schema_hash ?? null,
  };
  return goOn(denyCall(running, call, denial, turn), turn);
}
