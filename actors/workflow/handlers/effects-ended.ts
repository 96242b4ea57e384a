import { z } from 'zod';
import { KnownVolume } from '../../../manifests/metadata.ts';
import type { StateOf } from '../../../manifests/workflow/schema.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { hasRules } from '../../run-rules.ts';
import { release } from '../children.ts';
import { doubtPolicy, failRun, isoTime } from '../ending.ts';
import { jsonBytes } from '../json-values.ts';
import { LIMITS } from '../limits.ts';
import type { WorkflowTurn } from '../messages.ts';
import { advance, finish } from '../run.ts';
import { type AwaitingOf, currentStep, type IdleWorkflow, isRunning, type WorkflowState } from '../state.ts';
import { stateLeftMs, stopStateTimer, withStateTimer } from '../state-timer.ts';
import {
  aggregate,
  askContainer,
  containerOutcome,
  containerResult,
  endedByState,
  pauseMs,
  retryContainer,
  stepOutput,
  tellEnded,
} from '../steps/container.ts';
import { failed, failureOf } from '../steps/step.ts';
import { askHuman } from '../steps/subworkflow.ts';
import { askCommand, commandResult, withWorkspace } from '../steps/system.ts';

/** Answer of the effect `container.run`, for one container or one of several. */
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
  const ownMs = step.resources.timeout_ms;
  const end = endedByState(run, containerOutcome(outcome, ownMs), { ownMs, attempt }, turn);
  const again = end.error !== null && end.mayRetry && attempt < step.retry.max_attempts && !isStateOver(run, turn);
  const retryAt = again ? isoTime({ now: turn.now + pauseMs(step, attempt + 1) }) : null;
  tellEnded(run, end, { step_name: step.name ?? null, attempt, retryAt }, turn);
  if (!again) return finish(run, containerResult(end), turn);
  try {
    return { ...run, awaiting: retryContainer(run, step, attempt + 1, turn) };
  } catch (thrown) {
    return finish(run, failureOf(thrown), turn);
  }
}

/** No further attempt fits into the time of the state. */
const isStateOver = (run: IdleWorkflow, turn: WorkflowTurn): boolean => hasRules(run, 5) && stateLeftMs(run, turn) <= 0;

function stepEnded(
  run: IdleWorkflow,
  step: StateOf<'ParallelContainerRun'>,
  awaiting: AwaitingOf<'containers'>,
  name: string,
  outcome: EffectResult['outcome'],
  turn: WorkflowTurn,
): WorkflowState {
  const { [name]: _ended, ...effects } = awaiting.effects;
  const ownMs = step.steps.find((one) => one.name === name)?.resources.timeout_ms ?? 0;
  const end = endedByState(run, containerOutcome(outcome, ownMs), { ownMs, attempt: 1 }, turn);
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

/** Answer of the effect `command.run`. */
export function CommandEnded(state: WorkflowState, result: EffectResult, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'command') return state;
  const { awaiting, ...run } = state;
  if (awaiting.effect_id !== result.effectId) return state;
  const { outcome } = result;
  if (outcome.kind === 'in_doubt') return inDoubt(run, awaiting.repeats, turn);
  if (outcome.kind === 'failed') return finish(run, failed(outcome.code, outcome.message), turn);
  return finish(withWorkspace(run, outcome.value), commandResult(outcome.value, currentStep(run).timeout_ms), turn);
}

/** The command had started when its node died, so it is unknown whether it acted (E2): the policy decides. */
function inDoubt(run: IdleWorkflow, repeats: number, turn: WorkflowTurn): WorkflowState {
  const state = run.current_state ?? '';
  const policy = doubtPolicy(run.manifest, state);
  if (policy === 'retry' && repeats < LIMITS.inDoubtRepeats) return repeatCommand(run, repeats, 'policy', turn);
  if (policy === 'ask') {
    const prompt = `The command of state ${state} was running when its node died, and may have done its work. Repeat it?`;
    const question = { prompt, timeout_ms: null, default_response: null };
    const idle = stopStateTimer(run, turn);
    return { ...idle, awaiting: askHuman(run, question, { kind: 'repeat', repeats }, turn) };
  }
  const message =
    repeats === 0
      ? 'the command had started when its node died; it was not repeated'
      : `its node died ${repeats + 1} times while the command ran; it was not repeated again`;
  return finish(run, failed('in_doubt', message), turn);
}

/** Runs the command again, with the state's full time limit and an event that reports it. */
export function repeatCommand(
  run: IdleWorkflow,
  repeats: number,
  by: 'policy' | 'human',
  turn: WorkflowTurn,
): WorkflowState {
  const step = currentStep(run);
  if (step.kind !== 'System') return finish(run, failed('in_doubt', 'the state runs no command'), turn);
  let effectId: string;
  try {
    effectId = askCommand(run, step, turn);
  } catch (thrown) {
    return finish(run, failureOf(thrown), turn);
  }
  const { execution_id, current_state } = run;
  const repeat = repeats + 1;
  const repeated = { execution_id, state_name: current_state ?? '', repeat, by, repeated_at: isoTime(turn) };
  turn.emit('WorkflowStepRepeated', repeated);
  const awaiting = { kind: 'command', effect_id: effectId, repeats: repeat } as const;
  return { ...withStateTimer(run, turn), in_doubt: run.in_doubt + 1, awaiting };
}

/** `known` is absent in answers of older nodes. */
const volume = z.object({ volume_id: z.string(), known: KnownVolume.optional() });

/** Result value of the effect `volumes.prepare`. */
const Prepared = z.object({ workspace: volume.nullish(), shared: z.record(z.string(), volume).default({}) });

/** The volumes of `spec.storage` are ready: the first state is entered. Without them the run fails. */
export function VolumesPrepared(state: WorkflowState, result: EffectResult, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'volumes') return state;
  if (state.awaiting.effect_id !== result.effectId) return state;
  const { awaiting: _awaiting, ...run } = state;
  const { outcome } = result;
  if (outcome.kind === 'failed') return failRun(run, outcome.code, `volumes: ${outcome.message}`, turn);
  const prepared = Prepared.safeParse(outcome.kind === 'done' ? outcome.value : null);
  if (!prepared.success) return failRun(run, 'volumes_failed', 'the volumes could not be made', turn);
  const { workspace, shared } = prepared.data;
  const ids = Object.entries(shared).map(([name, { volume_id }]): [string, string] => [name, volume_id]);
  const storage = {
    workspace: workspace?.volume_id ?? run.storage.workspace,
    implicit: workspace === undefined || workspace === null,
    shared: Object.fromEntries(ids),
    known: Object.fromEntries(
      [workspace, ...Object.values(shared)].flatMap((one) =>
        one?.known === undefined ? [] : [[one.volume_id, one.known]],
      ),
    ),
  };
  return advance({ ...run, storage }, run.manifest.spec.initial_state, turn);
}

/** The pause before the next attempt is over. */
export function RetryContainer(
  state: WorkflowState,
  { entry }: { readonly entry: number },
  turn: WorkflowTurn,
): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'container' || state.entry !== entry) return state;
  const { awaiting, ...run } = state;
  const step = currentStep(run);
  if (awaiting.effect_id !== null || step.kind !== 'ContainerRun') return state;
  try {
    return { ...run, awaiting: askContainer(run, step, awaiting.attempt, turn) };
  } catch (thrown) {
    return finish(run, failureOf(thrown), turn);
  }
}

/** The next part of a long chain of states that did not wait. */
export function Continue(
  state: WorkflowState,
  { entry }: { readonly entry: number },
  turn: WorkflowTurn,
): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'turn' || state.entry !== entry) return state;
  const { awaiting: _awaiting, ...run } = state;
  return advance(run, state.awaiting.target, turn);
}
