import type { StateOf } from '../../../manifests/workflow/schema.ts';
import { addressOf } from '../../../runtime/address.ts';
import type { Ask } from '../../approval/messages.ts';
import type { AwaitingOf } from '../awaiting.ts';
import { LIMITS } from '../limits.ts';
import type { WorkflowTurn } from '../messages.ts';
import { renderer } from '../render.ts';
import type { IdleWorkflow } from '../state.ts';
import type { Begun } from './step.ts';

type Approval = AwaitingOf<'approval'>;

/** Kind Human (spec 3): an approval is asked; it keeps the time-out and the default response. */
export function beginHuman(run: IdleWorkflow, step: StateOf<'Human'>, turn: WorkflowTurn): Begun {
  const prompt = renderer(run)(step.prompt, LIMITS.spokenChars);
  const limits = { timeout_ms: step.timeout_ms, default_response: step.default_response ?? null };
  return { kind: 'waits', awaiting: askHuman(run, { prompt, ...limits }, { kind: 'input' }, turn) };
}

/** Opens an approval under an id of the run's own making. */
export function askHuman(
  run: IdleWorkflow,
  question: Pick<Ask, 'prompt' | 'timeout_ms' | 'default_response'>,
  about: Approval['about'],
  turn: WorkflowTurn,
): Approval {
  const approvalId = turn.newId();
  const ask: Ask = {
    approval_id: approvalId,
    execution_id: run.execution_id,
    state_name: run.current_state ?? '',
    ...question,
    ...(run.owner === undefined ? {} : { owner: run.owner }),
    notify: { to: turn.self, as: 'ApprovalWord', context: { entry: run.entry } },
  };
  turn.tell(addressOf('approval', turn.tenant, approvalId), 'Ask', ask);
  return { kind: 'approval', approval_id: approvalId, prompt: question.prompt, opened: false, about };
}
