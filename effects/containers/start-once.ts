import { SvcError } from '../../runtime/errors.ts';
import type { MountedVolume } from './create-options.ts';
import { containerFailed, refusalOf } from './engine-error.ts';
import { withoutDirectories } from './find-or-create.ts';
import type { ContainerOwner, EngineParts } from './settings.ts';
import { neverStarted } from './start-evidence.ts';
import { type ContainerState, readState, removeContainer } from './state.ts';

const START_SETTLE_MS = 2_000;
const LOOK_EVERY_MS = 100;
const MOST_STARTS = 10;

export interface StartRequest {
  readonly fresh: ContainerState;
  readonly owner: ContainerOwner;
  readonly attempt: number;
  readonly mounts: readonly MountedVolume[];
  readonly signal: AbortSignal;
  /** Called before the start by whoever may start: Podman makes an ended container ready again when one attaches. */
  readonly attach: () => Promise<void>;
}

/**
 * Starts a container that was never started, once. Engines run an ended container again when told to start it, so a
 * start without an answer is never repeated blindly: the container's state decides. Null when an earlier attempt's start
 * may still arrive: its container was taken away unstarted, and another is to be made. Throws `in_doubt` when the
 * effect was started in another container, `container_failed` with the engine's reason.
 */
export async function startOnce(parts: EngineParts, request: StartRequest): Promise<ContainerState | null> {
  const { engine, starts } = parts;
  const { fresh, owner, attempt, signal } = request;
  const mine = { containerId: fresh.id, attempt, createdAt: fresh.createdAt };
  const record = await starts.record(owner.tenant, owner.effectId, mine);
  // A frozen node that wakes when all is over for this effect, its record too, must not run it again.
  if (record.attempt > attempt || !(await parts.isWanted(owner))) {
    throw new SvcError('cancelled', 'nobody waits for this attempt any more');
  }
  if (record.containerId !== fresh.id) {
    await removeContainer(engine, fresh.id, signal);
    throw new SvcError('in_doubt', 'the effect was started in another container; it was not run again');
  }
  if (record.attempt < attempt) {
    const state = await settled(parts, fresh, signal);
    return state.phase === 'fresh' ? withdraw(parts, owner, state, signal) : state;
  }
  await request.attach();
  return start(parts, request);
}

async function start(parts: EngineParts, { fresh, mounts, signal }: StartRequest): Promise<ContainerState> {
  let state = fresh;
  for (let tries = 0; state.phase === 'fresh' && tries < MOST_STARTS; tries += 1) {
    try {
      await parts.engine.once(signal, (docker, stop) => docker.getContainer(fresh.id).start({ abortSignal: stop }));
      return await look(parts, fresh.id, signal);
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== null) return await refusedStart(parts, fresh.id, refusal.reason, mounts, signal);
      if (!(error instanceof SvcError && error.code === 'unavailable')) throw error;
      state = await settled(parts, fresh, signal);
    }
  }
  if (state.phase === 'fresh') throw containerFailed('the engine does not start it');
  return state;
}

/**
 * Takes a container away that was not started yet: a start that is still under way then finds none. The engine refuses
 * when it runs meanwhile; then it is adopted. It does not refuse when it has run and ended meanwhile: the engine's events
 * tell, and without their word the effect is in doubt.
 */
async function withdraw(
  parts: EngineParts,
  { tenant, effectId }: ContainerOwner,
  fresh: ContainerState,
  signal: AbortSignal,
): Promise<ContainerState | null> {
  const { engine, clock, starts } = parts;
  try {
    await engine.once(signal, (docker) => docker.getContainer(fresh.id).remove({ force: false, v: true }));
  } catch (error) {
    if (refusalOf(error) === null) throw error;
    return look(parts, fresh.id, signal);
  }
  if (!(await neverStarted(engine, clock, fresh, signal))) {
    throw new SvcError('in_doubt', 'an earlier attempt may have started the container; it was not run again');
  }
  await starts.forget(tenant, effectId);
  return null;
}

/** A start may still be under way in the engine: waits until it shows, or until it can be taken as lost. */
async function settled(parts: EngineParts, seen: ContainerState, signal: AbortSignal): Promise<ContainerState> {
  const { engine, clock, startSettleMs = START_SETTLE_MS } = parts;
  const since = clock.monotonic();
  for (;;) {
    const state = await look(parts, seen.id, signal);
    if (state.phase !== 'fresh' || clock.monotonic() - since >= startSettleMs) return state;
    await engine.pause(LOOK_EVERY_MS, signal);
    signal.throwIfAborted();
  }
}

async function look(parts: EngineParts, id: string, signal: AbortSignal): Promise<ContainerState> {
  const state = await readState(parts.engine, id, signal);
  if (state === null) throw new SvcError('in_doubt', 'the container is gone from the engine; it was not run again');
  return state;
}

/** An engine may refuse and have started it all the same. */
async function refusedStart(
  parts: EngineParts,
  id: string,
  reason: string,
  mounts: readonly MountedVolume[],
  signal: AbortSignal,
): Promise<ContainerState> {
  const state = await readState(parts.engine, id, signal);
  // Docker counts a command that could not be executed as ended with 126, 127 or 128.
  const never = state === null || state.phase === 'fresh' || [126, 127, 128].includes(state.exitCode);
  if (state !== null && !never) return state;
  throw containerFailed(withoutDirectories(reason, mounts, parts.extras?.binds));
}
