import type { StateOf } from '../../../manifests/workflow/schema.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { askEffect, bounded } from '../ask-effect.ts';
import { isoTime } from '../ending.ts';
import { isJsonObject } from '../json-field.ts';
import type { WorkflowTurn } from '../messages.ts';
import { renderer } from '../render.ts';
import type { IdleWorkflow } from '../state.ts';
import { type ContainerOutcome, containerInput, tellStarted } from './container.ts';
import { type Begun, failed, type StepResult, succeeded } from './step.ts';

type Step = StateOf<'ParallelContainerRun'>;

/** Kind ParallelContainerRun (spec 3): all steps are asked for together. */
export function beginParallelContainerRun(run: IdleWorkflow, step: Step, turn: WorkflowTurn): Begun {
  const render = renderer(run);
  const inputs = bounded(step.steps.map(({ name, ...rest }) => containerInput(run, rest, name, render)));
  const effects = inputs.map((input, index): [string, string] => {
    const stepName = step.steps[index]?.name ?? '';
    tellStarted(run, input, { step_name: stepName, attempt: 1 }, turn);
    return [stepName, askEffect('container.run', input, { entry: run.entry, step: stepName }, turn)];
  });
  return {
    kind: 'waits',
    awaiting: { kind: 'containers', effects: Object.fromEntries(effects), results: {}, bytes: 0 },
  };
}

/** Output of one step; one that did not start has no exit code and says why. */
export function stepOutput({ output, error }: ContainerOutcome): JsonObject {
  const none = { exit_code: null, stdout: '', stderr: '', duration_ms: 0 };
  return { ...(output ?? none), ...(error === null ? {} : { error: { ...error } }) };
}

/** All have ended: the completion strategy decides (spec 3). */
export function aggregate(run: IdleWorkflow, step: Step, results: JsonObject, turn: WorkflowTurn): StepResult {
  const bad = step.steps.map(({ name }) => name).filter((name) => !isSuccess(results, name));
  const total = step.steps.length;
  turn.emit('ParallelContainerRunAggregated', {
    execution_id: run.execution_id,
    state_name: run.current_state ?? '',
    total_steps: total,
    succeeded: total - bad.length,
    failed: bad.length,
    strategy: step.completion,
    aggregated_at: isoTime(turn),
  });
  // In the manifest's order, whichever ended first: what is rendered from it is the same in each run.
  const inOrder = step.steps
    .filter(({ name }) => Object.hasOwn(results, name))
    .map(({ name }) => [name, results[name] ?? null]);
  const record = { output: Object.fromEntries(inOrder) };
  const enough = { all_succeed: bad.length === 0, any_succeed: bad.length < total, best_effort: true };
  if (enough[step.completion]) return succeeded(record);
  return failed('steps_failed', `${bad.length} of ${total} steps failed: ${bad.join(', ')}`, record);
}

function isSuccess(results: JsonObject, name: string): boolean {
  const output = Object.hasOwn(results, name) ? results[name] : undefined;
  return isJsonObject(output) && output.exit_code === 0 && output.error === undefined;
}
