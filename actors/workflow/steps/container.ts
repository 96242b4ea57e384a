import { z } from 'zod';
import type { ContainerStep } from '../../../manifests/workflow/containers.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { ERRORS, isErrorCode } from '../../../runtime/errors.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { keepHead } from '../../execution/bounded-text.ts';
import { isoTime } from '../ending.ts';
import type { WorkflowTurn } from '../messages.ts';
import { type Render, renderMap } from '../render.ts';
import { isSealed } from '../sealed.ts';
import type { IdleWorkflow } from '../state.ts';
import { failed, type StepError, type StepResult, succeeded } from './step.ts';
import { endText } from './system.ts';
import { knownVolume, volumeNamed } from './volumes.ts';

/** Input of the effect `container.run`. */
export type ContainerInput = JsonObject & { readonly image: string; readonly command: string[] };

/** Longest that a container may run, whatever its `resources.timeout`. */
const MAX_CONTAINER_MS = 24 * 3_600_000;

/** Everything of a container that is asked for, rendered; throws when something of it cannot be. */
export function containerInput(
  run: IdleWorkflow,
  step: Omit<ContainerStep, 'name'>,
  stepName: string | null,
  render: Render,
): ContainerInput {
  const { cpu_millicores, memory_bytes, timeout_ms } = step.resources;
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
    mounts: step.volumes.map(({ name, mount_path, read_only }) => {
      const volume_id = volumeNamed(run, name);
      return { volume_id, mount_path, read_only, ...knownVolume(run, volume_id) };
    }),
    ...(cpu_millicores === undefined ? {} : { cpu_millicores }),
    ...(memory_bytes === undefined ? {} : { memory_bytes }),
    timeout_ms: Math.min(timeout_ms, MAX_CONTAINER_MS),
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
  /** Written, whether captured or not. */
  stdout_bytes: z.number().int().nonnegative().optional(),
  stderr_bytes: z.number().int().nonnegative().optional(),
  /** The limit for which it was ended. */
  stopped_by: z.string().max(100).optional(),
});
type ContainerEnd = z.output<typeof ContainerEnd>;

/** How one container ended. `output` is what templates see. */
export interface ContainerOutcome {
  /** Null when it did not start. */
  readonly output: JsonObject | null;
  readonly end: ContainerEnd | null;
  readonly error: StepError | null;
  /** Whether another attempt may end otherwise. */
  readonly mayRetry: boolean;
}

export function containerOutcome(outcome: EffectResult['outcome'], timeoutMs: number): ContainerOutcome {
  if (outcome.kind === 'in_doubt') {
    const error = { code: 'in_doubt', message: 'nobody knows how the container ended' };
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
  return { output, end: end.data, error: errorOf(end.data, timeoutMs), mayRetry: true };
}

function errorOf(end: ContainerEnd, timeoutMs: number): StepError | null {
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

export function tellStarted(run: IdleWorkflow, input: ContainerInput, which: Which, turn: WorkflowTurn): void {
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
