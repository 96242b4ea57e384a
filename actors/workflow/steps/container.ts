import { z } from 'zod';
import type { StateOf } from '../../../manifests/workflow/schema.ts';
import type { ContainerStep } from '../../../manifests/workflow/state.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { ERRORS, isErrorCode } from '../../../runtime/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../runtime/json.ts';
import { keepHead } from '../../execution/bounded-text.ts';
import { hasRules } from '../../run-rules.ts';
import { askEffect, bounded } from '../ask-effect.ts';
import { isoTime, TIMERS } from '../ending.ts';

import type { WorkflowTurn } from '../messages.ts';
import { isSealed, type Render, renderer, renderMap } from '../scope.ts';
import { type Awaiting, currentStep, type IdleWorkflow } from '../state.ts';
import { stateLeftMs } from '../state-timer.ts';
import { type Begun, failed, type StepError, StepFailed, StepFailure, type StepResult, succeeded } from './step.ts';
import { endText, timedOutText } from './system.ts';
import { knownVolume, renderedFiles, volumeNamed, withRunWorkspace } from './volumes.ts';

/** Input of the effect `container.run`. */
type ContainerInput = JsonObject & { readonly image: string; readonly command: string[] };

/** Longest run time of a container, whatever its `resources.timeout`. */
const MAX_CONTAINER_MS = 24 * 3_600_000;

interface Asked {
  readonly stepName: string | null;
  /** Time that is left to the state; null: its timer alone ends the container (rules before 5). */
  readonly withinMs: number | null;
  readonly render: Render;
}

/** The rendered input of a container; throws when a template cannot be rendered. */
function containerInput(
  run: IdleWorkflow,
  step: Omit<ContainerStep, 'name'>,
  { stepName, withinMs, render }: Asked,
): ContainerInput {
  const { cpu_millicores, memory_bytes, timeout_ms } = step.resources;
  const named = step.volumes.map(({ name, mount_path, read_only }) => {
    const volume_id = volumeNamed(run, name);
    return { volume_id, mount_path, read_only, ...knownVolume(run, volume_id) };
  });
  const isBare = step.workspace === 'none' || isSealed(run.manifest);
  const mounts = withRunWorkspace(run, isBare ? 'none' : 'shared', named, (at) => ({
    ...at,
    read_only: false,
    ...knownVolume(run, at.volume_id),
  }));
  return {
    workflow_execution_id: run.execution_id,
    state_name: run.current_state ?? '',
    ...(stepName === null ? {} : { step_name: stepName }),
    image: render(step.image).trim(),
    image_pull_policy: step.image_pull_policy,
    command: step.command.map((part) => render(part)),
    shell: step.shell,
    env: renderMap(render, step.env),
    workdir: render(step.workdir),
    ...renderedFiles(render, step.files),
    ...(step.files === undefined ? {} : { workspace_id: run.storage.workspace }),
    mounts: [...mounts],
    ...(cpu_millicores === undefined ? {} : { cpu_millicores }),
    ...(memory_bytes === undefined ? {} : { memory_bytes }),
    timeout_ms: Math.min(timeout_ms, MAX_CONTAINER_MS),
    ...(withinMs === null ? {} : { within_ms: withinMs }),
    ...(isSealed(run.manifest) ? { sealed: true } : {}),
    ...(step.registry_credentials === undefined ? {} : { registry_credentials: step.registry_credentials }),
  };
}

/** Result value of the effect `container.run`. */
const ContainerEnd = z.object({
  exit_code: z.number().int().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  duration_ms: z.number().nonnegative(),
  stdout_truncated: z.boolean().default(false),
  stderr_truncated: z.boolean().default(false),
  timed_out: z.boolean().default(false),
  oom_killed: z.boolean().default(false),
  /** Bytes written, stored or not. */
  stdout_bytes: z.number().int().nonnegative().optional(),
  stderr_bytes: z.number().int().nonnegative().optional(),
  /** The limit that it exceeded. */
  stopped_by: z.string().max(100).optional(),
  /** The failure of a container that ran. */
  failure: StepFailed.optional(),
});

type ContainerEnd = z.output<typeof ContainerEnd>;

/** How one container ended. `output`: its value for templates. */
interface ContainerOutcome {
  /** Null when it did not start. */
  readonly output: JsonObject | null;
  readonly end: ContainerEnd | null;
  readonly error: StepError | null;
  /** Whether another attempt may succeed. */
  readonly mayRetry: boolean;
}

export function containerOutcome(outcome: EffectResult['outcome'], timeoutMs: number): ContainerOutcome {
  if (outcome.kind === 'in_doubt') {
    const error = { code: 'in_doubt', message: 'it is unknown how the container ended' };
    return { output: null, end: null, error, mayRetry: false };
  }
  if (outcome.kind === 'failed') {
    const { code, message } = outcome;
    const mayRetry = isErrorCode(code) && ERRORS[code].kind === 'retry';
    return { output: null, end: null, error: { code, message }, mayRetry };
  }
  const end = ContainerEnd.safeParse(outcome.value);
  if (!end.success) {
    const error = { code: 'container_failed', message: 'the result of the container is malformed' };
    return { output: null, end: null, error, mayRetry: false };
  }
  const { exit_code, stdout, stderr, duration_ms, stdout_truncated, stderr_truncated } = end.data;
  const output = { exit_code, stdout, stderr, duration_ms, stdout_truncated, stderr_truncated };
  const mayRetry = end.data.failure === undefined;
  return { output, end: end.data, error: errorOf(end.data, timeoutMs), mayRetry };
}

function errorOf(end: ContainerEnd, timeoutMs: number): StepError | null {
  if (end.failure !== undefined) return end.failure;
  if (end.timed_out) return { code: 'container_timed_out', message: `the container ran longer than ${timeoutMs} ms` };
  if (end.oom_killed) return { code: 'out_of_memory', message: 'the container used more memory than it may' };
  if (end.stopped_by !== undefined)
    return { code: 'limit_exceeded', message: `the container was ended at its limit of ${end.stopped_by}` };
  if (end.exit_code === 0) return null;
  return { code: 'command_failed', message: endText('the container', end.exit_code, end.stderr) };
}

export const containerResult = ({ output, error }: ContainerOutcome): StepResult => {
  const record: JsonObject = output === null ? {} : { output };
  return error === null ? succeeded(record) : failed(error.code, error.message, record);
};

interface Which {
  readonly step_name: string | null;
  readonly attempt: number;
}

const inState = (run: IdleWorkflow) => ({ execution_id: run.execution_id, state_name: run.current_state ?? '' });

function tellStarted(run: IdleWorkflow, input: ContainerInput, which: Which, turn: WorkflowTurn): void {
  const command = input.command.slice(0, 32).map((part) => keepHead(part, 500));
  const { image } = input;
  turn.emit('ContainerRunStarted', { ...inState(run), ...which, image, command, started_at: isoTime(turn) });
}

/** `ContainerRunCompleted` for one that ran to its end with any exit code, else `ContainerRunFailed`. */
export function tellEnded(
  run: IdleWorkflow,
  { end, error }: ContainerOutcome,
  which: Which & { readonly retryAt: string | null },
  turn: WorkflowTurn,
): void {
  const { retryAt, ...rest } = which;
  if (end !== null && end.exit_code !== null && (error === null || error.code === 'command_failed')) {
    const { exit_code, duration_ms } = end;
    const stdout_bytes = end.stdout_bytes ?? Buffer.byteLength(end.stdout);
    const sizes = { stdout_bytes, stderr_bytes: end.stderr_bytes ?? Buffer.byteLength(end.stderr) };
    const completed = { ...inState(run), ...rest, exit_code, ...sizes, duration_ms, completed_at: isoTime(turn) };
    turn.emit('ContainerRunCompleted', completed);
    return;
  }
  const reason = error === null ? 'container_failed' : keepHead(`${error.code}: ${error.message}`, 1_000);
  turn.emit('ContainerRunFailed', { ...inState(run), ...rest, reason, retry_at: retryAt, failed_at: isoTime(turn) });
}

/** Kind ContainerRun (W12): one container, at most `retry.max_attempts` times. */
export function beginContainerRun(run: IdleWorkflow, step: StateOf<'ContainerRun'>, turn: WorkflowTurn): Begun {
  return { kind: 'waits', awaiting: askContainer(run, step, 1, turn) };
}

/** Requests attempt number `attempt`; the same scope renders the same input. */
export function askContainer(
  run: IdleWorkflow,
  step: StateOf<'ContainerRun'>,
  attempt: number,
  turn: WorkflowTurn,
): Awaiting {
  const wholeMs = stateMs(run);
  const withinMs = wholeMs === null || attempt === 1 ? wholeMs : stateLeftMs(run, turn);
  if (withinMs !== null && withinMs <= 0) throw new StepFailure('state_timed_out', timedOutText(step.timeout_ms));
  const input = containerInput(run, step, { stepName: null, withinMs, render: renderer(run) });
  bounded([input]);
  tellStarted(run, input, { step_name: step.name ?? null, attempt }, turn);
  const effectId = askEffect('container.run', input, { entry: run.entry, attempt }, turn);
  return { kind: 'container', effect_id: effectId, attempt, retry_at: null };
}

/** The whole time of the current state, as a limit of its containers; null where it is none to them. */
const stateMs = (run: IdleWorkflow): number | null => (hasRules(run, 5) ? currentStep(run).timeout_ms : null);

/** The outcome of a container that the limit of its state ended, not its own: it keeps its output, and the state timed out. */
export function endedByState(
  run: IdleWorkflow,
  outcome: ContainerOutcome,
  at: { readonly ownMs: number; readonly attempt: number },
  turn: WorkflowTurn,
): ContainerOutcome {
  const wholeMs = stateMs(run);
  if (wholeMs === null || outcome.error?.code !== 'container_timed_out') return outcome;
  const isOfState = (at.attempt === 1 && wholeMs < at.ownMs) || stateLeftMs(run, turn) <= 0;
  if (!isOfState) return outcome;
  const error = { code: 'state_timed_out', message: timedOutText(currentStep(run).timeout_ms) };
  return { ...outcome, error, mayRetry: false };
}

const MAX_PAUSE_MS = 24 * 3_600_000;

/** The pause before attempt `attempt`, 2 or more: `retry.backoff`, doubled each time. */
export const pauseMs = (step: StateOf<'ContainerRun'>, attempt: number): number =>
  Math.min(MAX_PAUSE_MS, step.retry.backoff_ms * 2 ** (attempt - 2));

/** Requests the next attempt, at once or after its pause. */
export function retryContainer(
  run: IdleWorkflow,
  step: StateOf<'ContainerRun'>,
  attempt: number,
  turn: WorkflowTurn,
): Awaiting {
  const pause = pauseMs(step, attempt);
  if (pause === 0) return askContainer(run, step, attempt, turn);
  turn.after(TIMERS.retry, pause, 'RetryContainer', { entry: run.entry });
  return { kind: 'container', effect_id: null, attempt, retry_at: isoTime({ now: turn.now + pause }) };
}

type Step = StateOf<'ParallelContainerRun'>;

/** Kind ParallelContainerRun (W13): all steps start together. */
export function beginParallelContainerRun(run: IdleWorkflow, step: Step, turn: WorkflowTurn): Begun {
  const render = renderer(run);
  const inputs = bounded(
    step.steps.map(({ name, ...rest }) =>
      containerInput(run, rest, { stepName: name, withinMs: stateMs(run), render }),
    ),
  );
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

/** Output of one step; one that did not start has an error in place of an exit code. */
export function stepOutput({ output, error }: ContainerOutcome): JsonObject {
  const none = { exit_code: null, stdout: '', stderr: '', duration_ms: 0 };
  return { ...(output ?? none), ...(error === null ? {} : { error: { ...error } }) };
}

/** All have ended: the completion strategy decides (W13). */
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
  // In the manifest's order, so that templates do not depend on which ended first.
  const inOrder = step.steps
    .filter(({ name }) => Object.hasOwn(results, name))
    .map(({ name }) => [name, results[name] ?? null]);
  const record = { output: Object.fromEntries(inOrder) };
  if (Object.values(results).some(isOverTime)) return failed('state_timed_out', timedOutText(step.timeout_ms), record);
  const enough = { all_succeed: bad.length === 0, any_succeed: bad.length < total, best_effort: true };
  if (enough[step.completion]) return succeeded(record);
  return failed('steps_failed', `${bad.length} of ${total} steps failed: ${bad.join(', ')}`, record);
}

/** The time of the state ended this step. */
const isOverTime = (output: Json): boolean =>
  isJsonObject(output) && isJsonObject(output.error) && output.error.code === 'state_timed_out';

function isSuccess(results: JsonObject, name: string): boolean {
  const output = Object.hasOwn(results, name) ? results[name] : undefined;
  return isJsonObject(output) && output.exit_code === 0 && output.error === undefined;
}
