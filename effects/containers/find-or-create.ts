import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import {
  containerName,
  createOptions,
  type MountedVolume,
  ownerOf,
  REALM_LABEL,
  withoutDirectories,
} from './create-options.ts';
import { containerFailed, isStatus, refusalOf } from './engine-error.ts';
import { ensureImage, hasUser } from './image.ts';
import type { ContainerInput } from './input.ts';
import type { ContainerOwner, EngineParts } from './settings.ts';
import { neverStarted } from './start-once.ts';
import { type ContainerState, readState } from './state.ts';

const NO_INIT = /container-init|init binary|catatonit|docker-init/i;

/**
 * The container of an effect: the one of an earlier attempt, else a new one. Throws `in_doubt` when an earlier attempt
 * started a container that is gone: it may have done its work, so it is not run again, unless the engine's events prove
 * that it never started.
 */
export async function findOrCreate(
  parts: EngineParts,
  input: ContainerInput,
  owner: ContainerOwner,
  mounts: readonly MountedVolume[],
  context: EffectContext,
): Promise<ContainerState> {
  const { engine, clock, starts, node } = parts;
  const { signal } = context;
  if (context.attempt > 1) {
    const found = await findOwn(parts, owner, signal);
    if (found !== null) return found;
    const start = await starts.find(owner.tenant, owner.effectId);
    if (start !== null) {
      const { containerId: id, createdAt } = start;
      if (!(await neverStarted(engine, clock, { id, createdAt }, signal))) {
        throw new SvcError(
          'in_doubt',
          `an earlier attempt started the container, and the engine of node ${node} does not have it: it was not run again`,
        );
      }
      // An earlier attempt removed it unstarted and died before it could delete the record.
      await starts.forget(owner.tenant, owner.effectId);
    }
  }
  await ensureImage(parts, input, owner.tenant, signal);
  const { cpus } = await engine.facts(signal);
  const user = await userOf(parts, input.image, signal);
  await create({ ...parts, limits: { ...parts.limits, user } }, { input, owner, mounts, cpus }, signal);
  const created = await findOwn(parts, owner, signal);
  if (created === null) throw containerFailed('the engine lost the container before it was started');
  return created;
}

/** Undefined: the image's own user. */
async function userOf({ engine, limits, extras }: EngineParts, image: string, signal: AbortSignal) {
  if (limits.user !== undefined || extras === undefined) return limits.user;
  return (await hasUser(engine, image, signal)) ? undefined : extras.user;
}

async function findOwn(parts: EngineParts, owner: ContainerOwner, signal: AbortSignal): Promise<ContainerState | null> {
  const found = await readState(parts.engine, containerName(owner.effectId), signal);
  if (found === null) return null;
  const other = ownerOf(found.labels);
  const ours =
    other?.effectId === owner.effectId && other.tenant === owner.tenant && found.labels[REALM_LABEL] === parts.realm;
  if (!ours) throw containerFailed(`${containerName(owner.effectId)} exists in the engine and is not of this effect`);
  return found;
}

interface Wanted {
  readonly input: ContainerInput;
  readonly owner: ContainerOwner;
  readonly mounts: readonly MountedVolume[];
  readonly cpus: number;
}

/** The name makes a repeated call harmless: the engine rejects the second with 409. */
async function create(parts: EngineParts, wanted: Wanted, signal: AbortSignal): Promise<void> {
  const { engine, realm, node, limits, extras } = parts;
  const { input, owner, mounts, cpus } = wanted;
  const init = engine.hasInit;
  try {
    await engine.call(signal, (docker) =>
      docker.createContainer(createOptions({ input, owner, realm, node, limits, mounts, cpus, init, extras })),
    );
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    if (isTaken(refusal.statusCode, refusal.reason)) return;
    if (init && NO_INIT.test(refusal.reason)) {
      engine.hasInit = false;
      parts.warn('the container engine has no init (catatonit): the command is process 1 of its container', undefined);
      return create(parts, wanted, signal);
    }
    if (isStatus(error, 404) && /image/i.test(refusal.reason)) {
      throw new SvcError('image_unavailable', `image ${input.image} is not on this node`);
    }
    throw containerFailed(withoutDirectories(refusal.reason, mounts, extras?.binds), error);
  }
}

const isTaken = (statusCode: number, reason: string): boolean => statusCode === 409 || /already in use/i.test(reason);
