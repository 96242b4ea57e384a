import type { StateOf } from '../../../manifests/workflow/schema.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import type { AwaitingOf } from '../awaiting.ts';
import { release } from '../children.ts';
import { isoTime } from '../ending.ts';
import { jsonBytes } from '../json-field.ts';
import { LIMITS } from '../limits.ts';
import type { WorkflowTurn } from '../messages.ts';
import { currentStep, finish } from '../run.ts';
import { type IdleWorkflow, isRunning, type WorkflowState } from '../state.ts';
import { containerOutcome, containerResult, tellEnded } from '../steps/container.ts';
import { pauseMs, retryContainer } from '../steps/container-run.ts';
import { aggregate, stepOutput } from '../steps/parallel-container-run.ts';
import { failed, failureOf } from '../steps/step.ts';

/** Answer of the effect `container.run`, of the one container or of one of several. */
export function ContainerEnded(state: WorkflowState, result: EffectResult, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state)) return state;
  const { awaiting, ...run } = state;
  if (awaiting.kind !== 'container' && awaiting.kind !== 'containers') return state;
  const step = currentStep(run);
  if (awaiting.kind === 'container' && step.kind === 'ContainerRun') {
    if (awaiting.effect_id !== result.effectId) return state;
    return oneEnded(run, step, awaiting.attempt, result.outcome, turn);
  }
  if (awaiting.kind === 'containers' && step.kind === 'ParallelContainerRun') {
    const name = Object.entries(awaiting.effects).find(([, effect]) => effect === result.effectId)?.[0];
    return name === undefined ? state : stepEnded(run, step, awaiting, name, result.outcome, turn);
  }
  return state;
}

function oneEnded(
  run: IdleWorkflow,
  step: StateOf<'ContainerRun'>,
  attempt: number,
  outcome: EffectResult['outcome'],
  turn: WorkflowTurn,
): WorkflowState {
  const end = containerOutcome(outcome, step.resources.timeout_ms);
  const again = end.error !== null && end.mayRetry && attempt < step.retry.max_attempts;
  const retryAt = again ? isoTime({ now: turn.now + pauseMs(step, attempt + 1) }) : null;
  tellEnded(run, end, { step_name: step.name ?? null, attempt, retryAt }, turn);
  if (!again) return finish(run, containerResult(end), turn);
  try {
    return { ...run, awaiting: retryContainer(run, step, attempt + 1, turn) };
  } catch (thrown) {
    return finish(run, failureOf(thrown), turn);
  }
}

function stepEnded(
  run: IdleWorkflow,
  step: StateOf<'ParallelContainerRun'>,
  awaiting: AwaitingOf<'containers'>,
  name: string,
  outcome: EffectResult['outcome'],
  turn: WorkflowTurn,
): WorkflowState {
  const { [name]: _ended, ...effects } = awaiting.effects;
  const timeoutMs = step.steps.find((one) => one.name === name)?.resources.timeout_ms ?? 0;
  const end = containerOutcome(outcome, timeoutMs);
  tellEnded(run, end, { step_name: name, attempt: 1, retryAt: null }, turn);
  const output = stepOutput(end);
  const bytes = awaiting.bytes + jsonBytes(output);
  const left: AwaitingOf<'containers'> = {
    ...awaiting,
    effects,
    bytes,
    results: { ...awaiting.results, [name]: output },
  };
  if (run.blackboard_bytes + bytes > LIMITS.blackboardBytes) {
    release(left, 'the outputs are too large', turn);
    const message = `the outputs of the steps and the blackboard have more than ${LIMITS.blackboardBytes} bytes`;
    return finish(run, failed('blackboard_full', message), turn);
  }
  if (Object.keys(effects).length > 0) return { ...run, awaiting: left };
  return finish(run, aggregate(run, step, left.results, turn), turn);
}
