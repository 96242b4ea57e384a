import type { StateOf } from '../../../manifests/workflow/schema.ts';
import { addressOf } from '../../../runtime/address.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../runtime/json.ts';
import type { Ask } from '../../approval/messages.ts';
import { hasRules } from '../../run-rules.ts';
import { askEffect, bounded } from '../ask-effect.ts';

import { LIMITS } from '../limits.ts';
import type { WorkflowTurn, WorkflowUpdate } from '../messages.ts';
import { renderer } from '../scope.ts';
import { type Ancestor, type AncestryProblem, ancestryProblem } from '../start-request.ts';
import type { AwaitingOf, IdleWorkflow } from '../state.ts';
import { agentName } from './agent.ts';
import { type Begun, failed, StepFailure, type StepResult, succeeded } from './step.ts';

type Step = StateOf<'Subworkflow'>;

/** Kind Subworkflow (W14): starts a child under a new id, one level deeper. */
export function beginSubworkflow(run: IdleWorkflow, step: Step, turn: WorkflowTurn): Begun {
  const ancestors = withSelf(run);
  const tooDeep = ancestryProblem(ancestors);
  if (tooDeep !== null) throw new StepFailure(tooDeep.reason, tooDeep.message);
  const render = renderer(run);
  const executionId = turn.newId();
  const input = {
    execution_id: executionId,
    workflow: agentName(render(step.workflow_id)),
    input: childInput(step.input === undefined ? '' : render(step.input)),
    ...(run.intent === null ? {} : { intent: run.intent }),
    ancestors: ancestors.map((ancestor) => ({ ...ancestor })),
    notify: { to: turn.self, as: 'ChildWord', context: { entry: run.entry } },
    identity: run.identity,
  };
  bounded([input]);
  const effectId = askEffect('workflow.start', input, { entry: run.entry }, turn);
  const awaiting = {
    kind: 'child',
    effect_id: effectId,
    execution_id: executionId,
    workflow_id: null,
    runs: false,
  } as const;
  return { kind: 'waits', awaiting };
}

/** JSON when it parses as JSON, else `{input: text}` (W14). */
function childInput(text: string): Json {
  if (text.trim() === '') return {};
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return { input: text };
    throw thrown;
  }
}

const withSelf = ({ ancestors, workflow_id, workflow_name, execution_id }: IdleWorkflow): Ancestor[] => [
  ...ancestors,
  { workflow_id, name: workflow_name, execution_id },
];

/** Why the started child may not run below this run; its name is known only now. */
export const childProblem = (run: IdleWorkflow, workflowId: string): AncestryProblem | null =>
  ancestryProblem(withSelf(run), workflowId);

/** Output of kind Subworkflow (W14): status, result, child_execution_id. */
export function childResult(run: IdleWorkflow, update: WorkflowUpdate): StepResult {
  const child = { child_execution_id: update.execution_id };
  if (update.status === 'completed') return succeeded({ result: update.output, ...child });
  const code = update.status === 'cancelled' ? 'cancelled' : (update.reason ?? 'failed');
  const ended = update.status === 'cancelled' && hasRules(run, 5) ? 'was cancelled' : update.status;
  return failed(code, update.error ?? `the child workflow ${ended}`, { result: null, ...child });
}

/** The child's final blackboard under `result_key`, when the state has one and waited for the child. */
export const resultEntries = (step: Step, update: WorkflowUpdate): JsonObject =>
  step.result_key !== undefined && step.mode === 'blocking' && isJsonObject(update.blackboard)
    ? { [step.result_key]: update.blackboard }
    : {};

type Approval = AwaitingOf<'approval'>;

/** Kind Human (W9): opens an approval, which has the time-out and the default response. */
export function beginHuman(run: IdleWorkflow, step: StateOf<'Human'>, turn: WorkflowTurn): Begun {
  const prompt = renderer(run)(step.prompt, LIMITS.spokenChars);
  const limits = { timeout_ms: step.timeout_ms, default_response: step.default_response ?? null };
  return { kind: 'waits', awaiting: askHuman(run, { prompt, ...limits }, { kind: 'input' }, turn) };
}

/** Opens an approval under a new id. */
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
