import { TemplateError } from '../../manifests/template/tree.ts';
import type { StateSpec } from '../../manifests/workflow/schema.ts';
import type { Transition } from '../../manifests/workflow/transition.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import { keepHead } from '../execution/bounded-text.ts';
import { hasRules } from '../run-rules.ts';
import { overwrite, writeBlackboard } from './blackboard.ts';
import { type Choice, chooseTransition } from './conditions.ts';
import { completeRun, failRun, isoTime } from './ending.ts';
import { jsonBytes, own } from './json-values.ts';
import { LIMITS } from './limits.ts';
import type { WorkflowTurn } from './messages.ts';
import { renderer } from './scope.ts';
import { currentStep, type EndedWorkflow, type IdleWorkflow, type WorkflowState } from './state.ts';
import { hasOneTimer, stopStateTimer, withoutSharedTimer, withStateTimer } from './state-timer.ts';
import { beginAgent, beginParallelAgents } from './steps/agent.ts';
import { beginContainerRun, beginParallelContainerRun } from './steps/container.ts';
import { type Begun, failureOf, type StepError, type StepResult } from './steps/step.ts';
import { beginHuman, beginSubworkflow } from './steps/subworkflow.ts';
import { beginSystem } from './steps/system.ts';
import { triedTransitions } from './tried-transitions.ts';

/** Enters a state, and the next ones while each ends within this turn. */
export function advance(run: IdleWorkflow, target: string, turn: WorkflowTurn): WorkflowState {
  let next: { readonly run: IdleWorkflow; readonly target: string } = { run, target };
  for (let states = 0; states < LIMITS.statesPerTurn; states += 1) {
    if (own(run.manifest.spec.states, next.target) === undefined)
      return failRun(next.run, 'invalid_manifest', `the manifest has no state ${next.target}`, turn);
    const entered = enter(next.run, next.target, turn);
    const begun = begin(entered, turn);
    if (begun.kind === 'waits') return { ...withStateTimer(entered, turn), awaiting: begun.awaiting };
    const left = leave(begun.run, begun.result, turn);
    if ('ended' in left) return left.ended;
    next = left;
  }
  turn.tell(turn.self, 'Continue', { entry: next.run.entry });
  return { ...withoutSharedTimer(next.run, turn), awaiting: { kind: 'turn', target: next.target } };
}

/** Begins the step of the current state again, without entering the state. */
export function beginAnew(run: IdleWorkflow, turn: WorkflowTurn): WorkflowState {
  const begun = begin(run, turn);
  if (begun.kind === 'waits') return { ...withStateTimer(run, turn), awaiting: begun.awaiting };
  const left = leave(begun.run, begun.result, turn);
  return 'ended' in left ? left.ended : advance(left.run, left.target, turn);
}

/** The waiting state has ended: its output is written, and the run continues. */
export function finish(run: IdleWorkflow, result: StepResult, turn: WorkflowTurn): WorkflowState {
  const idle = hasOneTimer(run) ? run : stopStateTimer(run, turn);
  const left = leave({ ...idle, status: 'running' }, result, turn);
  return 'ended' in left ? left.ended : advance(left.run, left.target, turn);
}

function enter(run: IdleWorkflow, name: string, turn: WorkflowTurn): IdleWorkflow {
  const visit = (own(run.visits, name) ?? 0) + 1;
  const at = isoTime(turn);
  const { execution_id } = run;
  const kind = own(run.manifest.spec.states, name)?.kind ?? '';
  turn.emit('WorkflowStateEntered', { execution_id, state_name: name, kind, visit, entered_at: at });
  return {
    ...run,
    current_state: name,
    visits: { ...run.visits, [name]: visit },
    entry: run.entry + 1,
    last_transition_at: at,
  };
}

/** All templates of a step are rendered before its first request, so a step that fails here has started nothing. */
function begin(run: IdleWorkflow, turn: WorkflowTurn): Begun {
  try {
    return beginStep(run, currentStep(run), turn);
  } catch (thrown) {
    const result = failureOf(thrown);
    if (thrown instanceof TemplateError)
      tellTemplateFailed(run, { what: 'step', transition: null, ...result.error }, turn);
    return { kind: 'ended', run, result };
  }
}

type Left = { readonly ended: EndedWorkflow } | { readonly run: IdleWorkflow; readonly target: string };

/** Writes the output; the first transition that matches then decides (W15). */
function leave(idle: IdleWorkflow, wanted: StepResult, turn: WorkflowTurn): Left {
  const { run, result, record } = writeOutput(idle, wanted, turn);
  const step = currentStep(run);
  const terminal = step.transitions.length === 0 || result.final === true;
  const choice = terminal ? null : chooseTransition(run, step, record);
  const { transition = null, problems = [] } = choice ?? {};
  for (const problem of problems.slice(0, MOST_PROBLEMS))
    tellTemplateFailed(run, { what: 'expression', ...problem }, turn);
  turn.emit('WorkflowStateExited', {
    execution_id: run.execution_id,
    state_name: run.current_state ?? '',
    status: result.error === null ? 'success' : 'failed',
    output: shown(record),
    next_state: transition?.target ?? null,
    condition: transition?.condition ?? null,
    transitions: hasRules(run, 2) ? triedTransitions(step, record, choice) : undefined,
    exited_at: isoTime(turn),
  });
  if (choice === null) return { ended: completeRun(run, turn) };
  if (transition === null) return { ended: unmatched(run, result, choice, turn) };
  if (run.entry > run.max_transitions) {
    const message = `the run made ${run.max_transitions} transitions, the next would be to state ${transition.target}`;
    return { ended: failRun(run, 'max_transitions_exceeded', message, turn) };
  }
  const feedback = transition.feedback === undefined ? '' : feedbackText(run, step, transition, turn);
  return { run: { ...run, feedback }, target: transition.target };
}

function unmatched(run: IdleWorkflow, { error }: StepResult, { problems }: Choice, turn: WorkflowTurn): EndedWorkflow {
  if (error !== null) return failRun(run, error.code, `state ${run.current_state}: ${error.message}`, turn);
  const message = [
    `no transition of state ${run.current_state} matched`,
    ...problems.map(({ message }) => message),
  ].join('; ');
  return failRun(run, 'no_transition_matched', message, turn);
}

/** Feedback that cannot be rendered does not stop the run: the next state gets the reason as its feedback. */
function feedbackText(run: IdleWorkflow, { transitions }: StateSpec, chosen: Transition, turn: WorkflowTurn): string {
  try {
    return renderer(run)(chosen.feedback ?? '', LIMITS.spokenChars);
  } catch (thrown) {
    const { error } = failureOf(thrown);
    tellTemplateFailed(run, { what: 'feedback', transition: transitions.indexOf(chosen), ...error }, turn);
    return `[${error?.message ?? ''}]`;
  }
}

/** Number of problems of one state's expressions that become events. */
const MOST_PROBLEMS = 5;

interface TemplateFailure extends Partial<StepError> {
  readonly what: 'step' | 'expression' | 'feedback';
  readonly transition: number | null;
}

function tellTemplateFailed(
  run: IdleWorkflow,
  { what, transition, code = '', message = '' }: TemplateFailure,
  turn: WorkflowTurn,
): void {
  if (!hasRules(run, 1)) return;
  const { execution_id, current_state } = run;
  const error = keepHead(message, 1_000);
  const failed = { execution_id, state_name: current_state ?? '', what, transition, code, error };
  turn.emit('WorkflowTemplateFailed', { ...failed, failed_at: isoTime(turn) });
}

function writeOutput(idle: IdleWorkflow, wanted: StepResult, turn: WorkflowTurn) {
  const name = idle.current_state ?? '';
  try {
    const record = recordOf(wanted);
    return { run: writeBlackboard(idle, { [name]: record }, turn), result: wanted, record };
  } catch (thrown) {
    const result = failureOf(thrown);
    const record = recordOf(result);
    return { run: overwrite(idle, { [name]: record }, turn), result, record };
  }
}

function recordOf({ record, error }: StepResult): JsonObject {
  const { status: _status, ...rest } = record;
  if (error === null) return { status: 'success', ...rest };
  return { status: 'failed', ...rest, error: { ...error } };
}

function shown(record: JsonObject): Json {
  const bytes = jsonBytes(record);
  if (bytes <= LIMITS.eventOutputBytes) return record;
  return { truncated: true, bytes, head: keepHead(JSON.stringify(record), LIMITS.eventOutputBytes / 4) };
}

/** Begins the entered state's step. Throws a StepFailure or SvcError when it cannot. */
function beginStep(run: IdleWorkflow, step: StateSpec, turn: WorkflowTurn): Begun {
  switch (step.kind) {
    case 'Agent':
      return beginAgent(run, step, turn);
    case 'System':
      return beginSystem(run, step, turn);
    case 'Human':
      return beginHuman(run, step, turn);
    case 'ParallelAgents':
      return beginParallelAgents(run, step, turn);
    case 'ContainerRun':
      return beginContainerRun(run, step, turn);
    case 'ParallelContainerRun':
      return beginParallelContainerRun(run, step, turn);
    case 'Subworkflow':
      return beginSubworkflow(run, step, turn);
  }
}
