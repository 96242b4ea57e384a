import type { ExecutionWord } from '../../execution/word.ts';
import { concludeIfDone } from '../concluding.ts';
import { readJudge } from '../judge-output.ts';
import { executionOf, failSeat, isOpen, type JudgePanelTurn, reseat, timerOf } from '../seats.ts';
import type { JudgePanelState, JudgingPanel } from '../state.ts';

/** A judge's execution started or ended. One that nobody awaits any more is cancelled when it starts. */
export function JudgeWord(state: JudgePanelState, word: ExecutionWord, turn: JudgePanelTurn): JudgePanelState {
  if (state.status === 'idle') return state;
  const judge = state.seats.findIndex(({ execution_id }) => execution_id === word.execution_id);
  const seat = state.seats[judge];
  if (seat === undefined) return state;
  if (state.status === 'ended' || !isOpen(seat)) {
    if (word.status === 'running' && seat.status !== 'answered') {
      turn.tell(executionOf(seat.execution_id, turn), 'Cancel', { reason: 'its panel does not await it any more' });
    }
    return state;
  }
  const { agent_id } = word;
  if (seat.status === 'asked') turn.emit('JudgeAsked', { judge, agent_id, execution_id: seat.execution_id });
  const panel = reseat(state, judge, { status: 'judging', agent_id });
  return word.status === 'running' ? panel : concludeIfDone(heard(panel, judge, word, turn), turn);
}

function heard(panel: JudgingPanel, judge: number, word: ExecutionWord, turn: JudgePanelTurn): JudgingPanel {
  if (word.status !== 'completed' || word.output === null) {
    const said = [word.reason ?? word.status, word.error].filter((part) => part !== null && part !== '').join(': ');
    return failSeat(panel, judge, { reason: `its execution ended without an output: ${said}` }, turn);
  }
  const read = readJudge(word.output);
  if (!read.ok) return failSeat(panel, judge, { reason: read.reason, output: read.output }, turn);
  const { score, confidence, reasoning, output } = read;
  turn.clear(timerOf(judge));
  turn.emit('JudgeAnswered', {
    judge,
    agent_id: word.agent_id,
    execution_id: word.execution_id,
    score,
    confidence,
  });
  return reseat(panel, judge, { status: 'answered', verdict: { score, confidence, reasoning }, output });
}
