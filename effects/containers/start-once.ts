import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type MountedVolume, withoutDirectories } from './create-options.ts';
import type { ContainerEngine } from './engine.ts';
import { containerFailed, refusalOf } from './engine-error.ts';
import type { ContainerOwner, EngineParts } from './settings.ts';
import { type ContainerState, readState, removeContainer } from './state.ts';

const START_SETTLE_MS = 2_000;
const POLL_MS = 100;
const MOST_STARTS = 10;

interface StartRequest {
  readonly fresh: ContainerState;
  readonly owner: ContainerOwner;
  readonly attempt: number;
  readonly mounts: readonly MountedVolume[];
  readonly signal: AbortSignal;
  /** Called only right before a start: attaching to an ended container makes Podman prepare it again. */
  readonly attach: () => Promise<void>;
}

/**
 * Starts a container that was never started, exactly once. Engines run an ended container again on a second start, so a
 * start without an answer is not repeated before the container's state was checked. Null when a start of an earlier
 * attempt may still arrive: the container was removed unstarted, and the caller creates another one. Throws `in_doubt` when
 * the effect was started in another container, and `container_failed` with the engine's reason.
 */
export async function startOnce(parts: EngineParts, request: StartRequest): Promise<ContainerState | null> {
  const { engine, starts } = parts;
  const { fresh, owner, attempt, signal } = request;
  const mine = { containerId: fresh.id, attempt, createdAt: fresh.createdAt };
  const record = await starts.record(owner.tenant, owner.effectId, mine);
  // A node that was frozen may wake after the effect has ended and its record is deleted: it must not run it again.
  if (record.attempt > attempt || !(await parts.isWanted(owner))) {
    throw new SvcError('cancelled', 'the result of this attempt is no longer wanted');
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
 * Removes a container that was not started, so that a start still under way finds none. The engine refuses if the
 * container runs meanwhile: then it is adopted. The engine does not refuse if it has run and ended meanwhile: then the
 * engine's events decide, and without them the effect is in doubt.
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

/** A start may still be under way in the engine: waits until it takes effect or counts as lost. */
async function settled(parts: EngineParts, seen: ContainerState, signal: AbortSignal): Promise<ContainerState> {
  const { engine, clock, startSettleMs = START_SETTLE_MS } = parts;
  const since = clock.monotonic();
  for (;;) {
    const state = await look(parts, seen.id, signal);
    if (state.phase !== 'fresh' || clock.monotonic() - since >= startSettleMs) return state;
    await engine.sleep(POLL_MS, signal);
    signal.throwIfAborted();
  }
}

async function look(parts: EngineParts, id: string, signal: AbortSignal): Promise<ContainerState> {
  const state = await readState(parts.engine, id, signal);
  if (state === null) throw new SvcError('in_doubt', 'the container is gone from the engine; it was not run again');
  return state;
}

/** An engine can answer with an error although it has started the container. */
async function refusedStart(
  parts: EngineParts,
  id: string,
  reason: string,
  mounts: readonly MountedVolume[],
  signal: AbortSignal,
): Promise<ContainerState> {
  const state = await readState(parts.engine, id, signal);
  // Docker reports a command that could not be executed as ended with 126, 127 or 128.
  const never = state === null || state.phase === 'fresh' || [126, 127, 128].includes(state.exitCode);
  if (state !== null && !never) return state;
  throw containerFailed(withoutDirectories(reason, mounts, parts.extras?.binds));
}

const MARGIN_MS = 2_000;
const LONGEST_ANSWER_CHARS = 1_048_576;

/**
 * Whether the engine's events show that a container was created and never started. Without events the answer is false:
 * nothing is proved.
 */
export async function neverStarted(
  engine: ContainerEngine,
  clock: Clock,
  container: { readonly id: string; readonly createdAt: number },
  signal: AbortSignal,
): Promise<boolean> {
  const since = Math.floor((container.createdAt - MARGIN_MS) / 1_000);
  const actions = await engine.call(signal, async (docker, abortSignal) => {
    // The engine ends its answer at this time; the current second is included.
    const until = Math.ceil(clock.now() / 1_000) + 1;
    const filters = { container: [container.id], event: ['create', 'start'] };
    const stream = await docker.getEvents({ since, until, filters, abortSignal });
    let text = '';
    for await (const chunk of stream) {
      text += chunk.toString();
      if (text.length > LONGEST_ANSWER_CHARS) return [];
    }
    return text.split('\n').flatMap((line) => actionOf(line, container.id));
  });
  return actions.includes('create') && !actions.includes('start');
}

function actionOf(line: string, id: string): string[] {
  if (line.trim() === '') return [];
  const event: unknown = JSON.parse(line);
  if (typeof event !== 'object' || event === null || !('Action' in event) || !('Actor' in event)) return [];
  const { Action, Actor } = event;
  const same = typeof Actor === 'object' && Actor !== null && 'ID' in Actor && Actor.ID === id;
  return same && typeof Action === 'string' ? [Action] : [];
}
