import type { ApprovalWord as Word } from '../../approval/messages.ts';
import type { AwaitingOf } from '../awaiting.ts';
import { isoTime } from '../ending.ts';
import type { WorkflowTurn } from '../messages.ts';
import { finish } from '../run.ts';
import { type IdleWorkflow, isRunning, type WorkflowState } from '../state.ts';
import { failed, succeeded } from '../steps/step.ts';
import { isYes } from '../yes-no.ts';
import { repeatCommand } from './command-ended.ts';

/** An approval was opened, answered or ran out of time. */
export function ApprovalWord(state: WorkflowState, word: Word, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'approval') return state;
  const { awaiting, ...run } = state;
  if (awaiting.approval_id !== word.approval_id) return state;
  if (word.kind === 'opened') return awaiting.opened ? state : opened(run, awaiting, turn);
  const answered: IdleWorkflow = { ...run, status: 'running' };
  if (word.payload === null) {
    const code = awaiting.about.kind === 'input' ? 'human_input_timeout' : 'in_doubt';
    return finish(answered, failed(code, 'nobody answered in time'), turn);
  }
  turn.emit('WorkflowHumanInputReceived', {
    ...ids(run, awaiting),
    how: word.kind,
    payload: word.payload,
    received_at: isoTime(turn),
  });
  if (awaiting.about.kind === 'repeat') return repeatOrFail(answered, awaiting.about.repeats, word.payload, turn);
  const feedback = word.feedback === null || word.feedback === '' ? word.payload : word.feedback;
  const result = succeeded({ output: word.payload, feedback });
  return finish({ ...answered, human_feedback: feedback }, result, turn);
}

/** Only now it waits: who reads this status finds the approval (design R2). */
function opened(run: IdleWorkflow, awaiting: AwaitingOf<'approval'>, turn: WorkflowTurn): WorkflowState {
  const { prompt } = awaiting;
  turn.emit('WorkflowHumanInputRequested', { ...ids(run, awaiting), prompt, requested_at: isoTime(turn) });
  return { ...run, status: 'waiting_for_human_input', awaiting: { ...awaiting, opened: true } };
}

function repeatOrFail(run: IdleWorkflow, repeats: number, payload: string, turn: WorkflowTurn): WorkflowState {
  if (isYes(payload)) return repeatCommand(run, repeats, 'human', turn);
  const message = 'the command had started when its node died; a human said not to repeat it';
  return finish(run, failed('in_doubt', message), turn);
}

const ids = (run: IdleWorkflow, { approval_id }: AwaitingOf<'approval'>) => ({
  execution_id: run.execution_id,
  state_name: run.current_state ?? '',
  approval_id,
});
