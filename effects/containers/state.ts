import type Docker from 'dockerode';
import type { Collection, Documents, StoredDocument } from '../../runtime/documents.ts';
import type { ContainerEngine } from './engine.ts';
import { isGone, isStatus } from './engine-error.ts';

/** The current state of a container in the engine. */
export interface ContainerState {
  readonly id: string;
  /** `fresh` was never started. */
  readonly phase: 'fresh' | 'running' | 'ended';
  readonly exitCode: number;
  readonly oomKilled: boolean;
  readonly createdAt: number;
  /** Unix ms by the engine's clock; NaN before the start or the end. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** Null if the engine has no such container. */
export async function readState(
  engine: ContainerEngine,
  nameOrId: string,
  signal: AbortSignal,
): Promise<ContainerState | null> {
  try {
    const seen = await engine.call(signal, (docker) => docker.getContainer(nameOrId).inspect());
    return stateOf(seen);
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

function stateOf({ Id, Created, State, Config }: Docker.ContainerInspectInfo): ContainerState {
  return {
    id: Id,
    phase: phaseOf(State.Status),
    exitCode: State.ExitCode,
    oomKilled: State.OOMKilled,
    createdAt: timeOf(Created),
    startedAt: timeOf(State.StartedAt),
    endedAt: timeOf(State.FinishedAt),
    labels: Config.Labels ?? {},
  };
}

/** Other statuses (`paused`, `removing`, `stopping`) count as running. */
function phaseOf(status: string): ContainerState['phase'] {
  if (['created', 'configured', 'initialized'].includes(status)) return 'fresh';
  return ['exited', 'dead', 'stopped'].includes(status) ? 'ended' : 'running';
}

/** Engines use the year 1 for "never". */
function timeOf(text: string): number {
  const at = Date.parse(text);
  return at > 0 ? at : Number.NaN;
}

/** Kills the container if it runs and removes it with its anonymous volumes. No error if it is gone. */
export async function removeContainer(engine: ContainerEngine, nameOrId: string, signal: AbortSignal): Promise<void> {
  await ignoringAbsence(
    engine.call(signal, (docker) => docker.getContainer(nameOrId).remove({ force: true, v: true })),
  );
}

/** Sends SIGKILL. No error if the container does not run. */
export async function killContainer(engine: ContainerEngine, id: string, signal: AbortSignal): Promise<void> {
  await ignoringAbsence(engine.call(signal, (docker) => docker.getContainer(id).kill({ signal: 'SIGKILL' })));
}

async function ignoringAbsence(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isGone(error) && !isStatus(error, 409)) throw error;
  }
}

/**
 * The container in which an effect was started, written before the start. A container that is gone may have run if there is
 * a record, and has certainly not run if there is none. So no effect runs twice, and none that never ran is given up.
 */
export interface ContainerStarts {
  /** Durable; the first record wins and is returned. */
  record(tenant: string, effectId: string, start: ContainerStart): Promise<ContainerStart>;
  find(tenant: string, effectId: string): Promise<ContainerStart | null>;
  /** Called when the container was removed unstarted, or the effect is closed. */
  forget(tenant: string, effectId: string): Promise<void>;
}

interface ContainerStart {
  readonly containerId: string;
  readonly attempt: number;
  /** Unix ms by the engine's clock; its events about the container begin here. */
  readonly createdAt: number;
}

interface StartDocument extends StoredDocument {
  readonly container_id: string;
  readonly attempt: number;
  readonly created_at: number;
}

/** Stored in Documents, which all nodes share. */
export async function createContainerStarts(documents: Documents): Promise<ContainerStarts> {
  const starts: Collection<StartDocument> = await documents.collection({
    name: 'container_starts',
    unique: [],
    indexes: [],
  });
  const find = async (tenant: string, effectId: string): Promise<ContainerStart | null> => {
    const found = await starts.get(tenant, effectId);
    if (found === null) return null;
    return { containerId: found.container_id, attempt: found.attempt, createdAt: found.created_at };
  };
  return {
    find,
    async record(tenant, effectId, start) {
      const { containerId: container_id, attempt, createdAt: created_at } = start;
      if (await starts.insert({ tenant, id: effectId, version: 1, container_id, attempt, created_at })) return start;
      // Deleted meanwhile by an attempt that has taken over.
      return (await find(tenant, effectId)) ?? { containerId: '', attempt: Number.MAX_SAFE_INTEGER, createdAt: 0 };
    },
    async forget(tenant, effectId) {
      await starts.delete(tenant, effectId);
    },
  };
}
