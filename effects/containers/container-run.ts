import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { handOver, ownerOf } from '../volumes/ownership.ts';
import { writeStepFiles } from '../volumes/step-files.ts';
import { type MountedVolume, withoutDirectories } from './create-options.ts';
import { containerFailed, initFailure, refusalOf } from './engine-error.ts';
import { findOrCreate } from './find-or-create.ts';
import type { ContainerInput, ContainerResult, StoppedBy } from './input.ts';
import type { ContainerOutput } from './output.ts';
import { attachOutput, finalOutput, type LiveOutput } from './output.ts';
import type { ContainerOwner, EngineParts } from './settings.ts';
import { startOnce } from './start-once.ts';
import { type ContainerState, killContainer, readState } from './state.ts';

const KILLED = 137;
const MOST_CONTAINERS = 3;

/** Finds, or creates and starts, the container of an effect, follows it to its end and returns how it ended. */
export async function runContainer(
  parts: EngineParts,
  input: ContainerInput,
  owner: ContainerOwner,
  context: EffectContext,
): Promise<ContainerResult> {
  const { engine, limits, networks } = parts;
  const { signal } = context;
  const begunAt = parts.clock.now();
  // Also for a container that this node started before a restart.
  if (input.sealed !== true) await networks?.learn(engine, limits.networkMode, signal);
  // Keeps the sweep from removing volumes of the container.
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
    const withinMs = (input.within_ms ?? Number.POSITIVE_INFINITY) - (parts.clock.now() - begunAt);
    const leftMs = Math.min(timeLeftMs(parts, state, input.timeout_ms), withinMs);
    const { tenant } = owner;
    const outputEnded = live?.ended ?? null;
    const followed = await watch.follow({ id: state.id, tenant, mounts, leftMs, signal, outputEnded });
    // A stream whose connection broke meanwhile may have ended without an error.
    const whole = engine.interruptions === interruptions ? live : null;
    const output = await finalOutput(engine, state.id, whole, signal);
    const full = followed.overQuota ?? (await checkQuotas(parts, owner.tenant, mounts));
    if (full !== null) {
      const { code, message } = full;
      return { ...resultOf(followed, output, input.timeout_ms), failure: { code, message } };
    }
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
    let reported = false;
    const report = async (state: ContainerState) => {
      if (!reported) await parts.extras?.onContainer(state);
      reported = true;
    };
    const attach = async () => {
      await report(found);
      live = await attachTo(parts, found.id, mounts, watch, signal);
    };
    if (found.phase === 'fresh') {
      await writeFiles(parts, input, owner);
      await handOverVolumes(parts, mounts);
    }
    const state =
      found.phase === 'fresh'
        ? await startOnce(parts, { fresh: found, owner, attempt, mounts, signal, attach })
        : found;
    if (state === null) continue;
    await report(state);
    return { state, live };
  }
  throw new SvcError('in_doubt', 'earlier attempts may still start the container; it was not run again');
}

/** The mounts were opened before, so the workspace exists. */
async function writeFiles({ volumes }: EngineParts, input: ContainerInput, { tenant }: ContainerOwner): Promise<void> {
  const { files = [], workspace_id } = input;
  if (workspace_id !== undefined) await writeStepFiles(volumes.files, { tenant, volumeId: workspace_id }, files);
}

/** On a node that runs as root: gives the volumes to the container's user, by default root without capabilities. */
async function handOverVolumes({ limits, extras }: EngineParts, mounts: readonly MountedVolume[]): Promise<void> {
  const user = ownerOf(limits.user ?? extras?.user ?? '0');
  for (const { directory } of mounts) await handOver(directory, user);
}

/** Podman prepares the process on attach, so a command that cannot be executed fails here already. */
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
      // The implicit workspace is created on first use.
      const create = volume_id === workflow_execution_id;
      const volume = await volumes.open(tenant, volume_id, { create, known: given });
      return { ...volume, id: volume_id, path: mount_path, readOnly: read_only };
    }),
  );
}

/** Counts from the container's start, so that a takeover by another node does not extend its time. */
function timeLeftMs({ clock }: EngineParts, state: ContainerState, timeoutMs: number): number {
  if (state.phase === 'ended' || Number.isNaN(state.startedAt)) return timeoutMs;
  return Math.min(timeoutMs, timeoutMs - (clock.now() - state.startedAt));
}

function resultOf({ state, stoppedBy }: Followed, output: ContainerOutput, timeoutMs: number): ContainerResult {
  const durationMs = Math.max(0, Math.round(state.endedAt - state.startedAt)) || 0;
  const killed = state.exitCode === KILLED;
  // After a kill by a node that died, only the times show the reason.
  const timedOut = killed && (stoppedBy === 'timeout' || (stoppedBy === null && durationMs >= timeoutMs));
  // Podman on cgroup v1 does not report it. A memory limit is always set, and nothing else sends SIGKILL.
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

const QUOTA_EVERY_MS = 2_000;
/** Pause after a failed wait. */
const RETRY_MS = 100;
/** Longest single wait, so that a dead connection is noticed. */
const MAX_WAIT_MS = 20_000;
/** Polls after the output has ended: the engine notes the container's end a moment later. */
const QUICK_POLLS = 10;
const QUICK_POLL_MS = 20;

interface FollowRequest {
  readonly id: string;
  readonly tenant: string;
  readonly mounts: readonly MountedVolume[];
  /** Remaining time of the container. */
  readonly leftMs: number;
  readonly signal: AbortSignal;
  /** Resolves when the output has ended, which is usually sooner than the engine's own wait returns. */
  readonly outputEnded: Promise<unknown> | null;
}

interface Followed {
  readonly state: ContainerState;
  readonly stoppedBy: 'timeout' | 'output' | null;
  /** Why it was killed, when a volume became full. */
  readonly overQuota: SvcError | null;
}

/** Follows one running container and kills it when its time, its output or the quota of a volume runs out. */
class ContainerWatch {
  readonly #parts: EngineParts;
  readonly #ended = new AbortController();
  #stoppedBy: Exclude<StoppedBy, 'memory'> | null = null;
  #overQuota: SvcError | null = null;
  #kill: (() => void) | null = null;

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /** The first reason counts. */
  stop(reason: Exclude<StoppedBy, 'memory'>): void {
    this.#stoppedBy ??= reason;
    this.#kill?.();
  }

  /** Resolves when it has ended. Throws `in_doubt` if it was removed. */
  async follow(request: FollowRequest): Promise<Followed> {
    const { clock } = this.#parts;
    const stop = AbortSignal.any([request.signal, this.#ended.signal]);
    this.#kill = () => void this.#killUntilEnded(request.id, stop);
    if (this.#stoppedBy !== null) this.#kill();
    const cancelTimeout = clock.after(Math.max(0, request.leftMs), () => this.stop('timeout'));
    const watching = this.#watchQuotas(request, stop).catch((error: unknown) =>
      this.#parts.warn(`the quotas of container ${request.id} are no longer watched`, error),
    );
    try {
      const state = await this.#wait(request);
      return { state, stoppedBy: this.#stoppedBy, overQuota: this.#overQuota };
    } finally {
      cancelTimeout();
      this.#ended.abort();
      await watching;
    }
  }

  async #wait({ id, signal, outputEnded }: FollowRequest): Promise<ContainerState> {
    const { engine } = this.#parts;
    if (outputEnded !== null) await Promise.race([outputEnded, this.#waitOnce(id, signal)]);
    for (let polls = 0; ; polls += 1) {
      const state = await readState(engine, id, signal);
      if (state === null) throw new SvcError('in_doubt', 'the container was removed from the engine while it ran');
      if (state.phase === 'ended') return state;
      if (outputEnded !== null && polls < QUICK_POLLS) await engine.sleep(QUICK_POLL_MS, signal);
      else await this.#waitOnce(id, signal);
    }
  }

  async #waitOnce(id: string, signal: AbortSignal): Promise<void> {
    const { engine } = this.#parts;
    try {
      await engine.once(signal, (docker, stop) => docker.getContainer(id).wait({ abortSignal: stop }), MAX_WAIT_MS);
    } catch {
      // The next check of the state shows what happened.
      await engine.sleep(RETRY_MS, signal);
    }
  }

  async #killUntilEnded(id: string, stop: AbortSignal): Promise<void> {
    try {
      await killContainer(this.#parts.engine, id, stop);
    } catch (error) {
      if (!stop.aborted) this.#parts.warn(`container ${id} could not be killed`, error);
    }
  }

  async #watchQuotas({ id, tenant, mounts }: FollowRequest, stop: AbortSignal): Promise<void> {
    const { engine, quotaEveryMs = QUOTA_EVERY_MS } = this.#parts;
    const limited = mounts.filter(({ readOnly, sizeLimitBytes }) => !readOnly && sizeLimitBytes !== null);
    while (limited.length > 0) {
      await engine.sleep(quotaEveryMs, stop);
      if (stop.aborted) return;
      const over = await checkQuotas(this.#parts, tenant, limited);
      if (over === null) continue;
      this.#overQuota = over;
      return this.#killUntilEnded(id, stop);
    }
  }
}

/** The error of the first volume over its quota. A check that fails counts as none. */
async function checkQuotas(
  parts: EngineParts,
  tenant: string,
  mounts: readonly MountedVolume[],
): Promise<SvcError | null> {
  for (const { id, readOnly, sizeLimitBytes, known } of mounts) {
    if (readOnly || sizeLimitBytes === null) continue;
    try {
      await parts.volumes.checkQuota(tenant, id, known);
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'quota_exceeded') return error;
      parts.warn(`the quota of volume ${id} could not be checked`, thrown);
    }
  }
  return null;
}
