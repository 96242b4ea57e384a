import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import { handOver, ownerOf } from '../volumes/volume-path.ts';
import type { MountedVolume } from './create-options.ts';
import { containerFailed, initFailure, refusalOf } from './engine-error.ts';
import { findOrCreate, withoutDirectories } from './find-or-create.ts';
import { ContainerWatch, checkQuotas, type Followed } from './follow.ts';
import type { ContainerInput, ContainerResult, StoppedBy } from './input.ts';
import type { ContainerOutput } from './output.ts';
import { attachOutput, finalOutput, type LiveOutput } from './read-output.ts';
import type { ContainerOwner, EngineParts } from './settings.ts';
import { startOnce } from './start-once.ts';
import type { ContainerState } from './state.ts';

const KILLED = 137;
const MOST_CONTAINERS = 3;

/** Finds, or makes and starts, the container of an effect, follows it to its end and tells how it ended. */
export async function runContainer(
  parts: EngineParts,
  input: ContainerInput,
  owner: ContainerOwner,
  context: EffectContext,
): Promise<ContainerResult> {
  const { engine, limits, networks } = parts;
  const { signal } = context;
  // Of one that an earlier life has started too.
  if (input.sealed !== true) await networks?.learn(engine, limits.networkMode, signal);
  // Nobody sweeps them away under the container.
  using held = new DisposableStack();
  for (const { volume_id } of input.mounts) held.defer(parts.volumes.hold(owner.tenant, volume_id));
  const mounts = await openVolumes(parts, input, owner);
  if (context.attempt === 1) {
    const full = await checkQuotas(parts, owner.tenant, mounts);
    if (full !== null) throw full;
  }
  const watch = new ContainerWatch(parts);
  const interruptions = engine.interruptions;
  const { state, live } = await findStarted(parts, input, { owner, mounts, watch, context });
  try {
    const leftMs = timeLeftMs(parts, state, input.timeout_ms);
    const { tenant } = owner;
    const outputEnded = live?.ended ?? null;
    const followed = await watch.follow({ id: state.id, tenant, mounts, leftMs, signal, outputEnded });
    // A connection that broke in between may have ended without saying so.
    const whole = engine.interruptions === interruptions ? live : null;
    const output = await finalOutput(engine, state.id, whole, signal);
    const full = await checkQuotas(parts, owner.tenant, mounts);
    if (full !== null) throw full;
    const reason = initFailure(followed.state.exitCode, output.stdout.bytes, output.stderr.text());
    if (reason !== null) throw containerFailed(`${JSON.stringify(input.command[0])}: ${reason}`);
    return resultOf(followed, output, input.timeout_ms);
  } finally {
    live?.close();
  }
}

interface Run {
  readonly owner: ContainerOwner;
  readonly mounts: readonly MountedVolume[];
  readonly watch: ContainerWatch;
  readonly context: EffectContext;
}

/** The effect's container, started; with its live output when it was started here. */
async function findStarted(
  parts: EngineParts,
  input: ContainerInput,
  { owner, mounts, watch, context }: Run,
): Promise<{ readonly state: ContainerState; readonly live: LiveOutput | null }> {
  const { attempt, signal } = context;
  for (let tries = 0; tries < MOST_CONTAINERS; tries += 1) {
    const found = await findOrCreate(parts, input, owner, mounts, context);
    let live: LiveOutput | null = null;
    let told = false;
    const tell = async (state: ContainerState) => {
      if (!told) await parts.extras?.onContainer(state);
      told = true;
    };
    const attach = async () => {
      await tell(found);
      live = await attachTo(parts, found.id, mounts, watch, signal);
    };
    if (found.phase === 'fresh') await handOverVolumes(parts, mounts);
    const state =
      found.phase === 'fresh'
        ? await startOnce(parts, { fresh: found, owner, attempt, mounts, signal, attach })
        : found;
    if (state === null) continue;
    await tell(state);
    return { state, live };
  }
  throw new SvcError('in_doubt', 'starts of earlier attempts keep coming; it was not run again');
}

/** On a node that runs as root: its container's user, which is root of no capabilities where nothing else is said, works in them. */
async function handOverVolumes({ limits, extras }: EngineParts, mounts: readonly MountedVolume[]): Promise<void> {
  const user = ownerOf(limits.user ?? extras?.user ?? '0');
  for (const { directory } of mounts) await handOver(directory, user);
}

/** Podman prepares the process when somebody attaches: a command that cannot be executed shows here already. */
async function attachTo(
  { engine, limits, extras }: EngineParts,
  id: string,
  mounts: readonly MountedVolume[],
  watch: ContainerWatch,
  signal: AbortSignal,
): Promise<LiveOutput> {
  try {
    const onBytes = (bytes: number): void => {
      if (bytes > limits.outputBytes) watch.stop('output');
    };
    return await attachOutput(engine, id, signal, onBytes, extras?.onStdout);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    throw containerFailed(withoutDirectories(refusal.reason, mounts, extras?.binds));
  }
}

async function openVolumes(
  { volumes }: EngineParts,
  { mounts, workflow_execution_id }: ContainerInput,
  { tenant }: ContainerOwner,
): Promise<MountedVolume[]> {
  return Promise.all(
    mounts.map(async ({ volume_id, mount_path, read_only, known: given }) => {
      // The implicit workspace is made by the first that needs it.
      const create = volume_id === workflow_execution_id;
      const volume = await volumes.open(tenant, volume_id, { create, known: given });
      return { ...volume, id: volume_id, path: mount_path, readOnly: read_only };
    }),
  );
}

/** Measured from the container's start, so that a change of nodes gives it no more time. */
function timeLeftMs({ clock }: EngineParts, state: ContainerState, timeoutMs: number): number {
  if (state.phase === 'ended' || Number.isNaN(state.startedAt)) return timeoutMs;
  return Math.min(timeoutMs, timeoutMs - (clock.now() - state.startedAt));
}

function resultOf({ state, stoppedBy }: Followed, output: ContainerOutput, timeoutMs: number): ContainerResult {
  const durationMs = Math.max(0, Math.round(state.endedAt - state.startedAt)) || 0;
  const killed = state.exitCode === KILLED;
  // A node that died after killing it left only the times to tell by.
  const timedOut = killed && (stoppedBy === 'timeout' || (stoppedBy === null && durationMs >= timeoutMs));
  // Podman on cgroup v1 does not tell. A memory limit is always set, and nobody else kills with SIGKILL.
  const oomKilled = state.oomKilled || (killed && !timedOut && stoppedBy === null);
  const reason: StoppedBy | null = timedOut ? 'timeout' : stoppedBy === 'output' && killed ? 'output' : null;
  const shown = reason ?? (oomKilled && killed ? 'memory' : null);
  return {
    exit_code: state.exitCode,
    stdout: output.stdout.text(),
    stderr: output.stderr.text(),
    duration_ms: durationMs,
    stdout_truncated: output.stdout.truncated,
    stderr_truncated: output.stderr.truncated,
    stdout_bytes: output.stdout.bytes,
    stderr_bytes: output.stderr.bytes,
    timed_out: timedOut,
    oom_killed: oomKilled,
    ...(shown === null ? {} : { stopped_by: shown }),
  };
}
