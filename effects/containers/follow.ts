import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { MountedVolume } from './create-options.ts';
import type { StoppedBy } from './input.ts';
import type { EngineParts } from './settings.ts';
import { type ContainerState, killContainer, readState } from './state.ts';

const QUOTA_EVERY_MS = 2_000;
/** Between two looks when waiting fails; also the longest single wait, so that a deaf connection is noticed. */
const LOOK_EVERY_MS = 100;
const LONGEST_WAIT_MS = 20_000;
const QUICK_LOOKS = 10;
const QUICK_LOOK_MS = 20;

export interface FollowRequest {
  readonly id: string;
  readonly tenant: string;
  readonly mounts: readonly MountedVolume[];
  /** What is left of the container's time. */
  readonly leftMs: number;
  readonly signal: AbortSignal;
  /** Resolves when its output ended: usually the container has too, sooner than the engine's own wait tells. */
  readonly outputEnded: Promise<unknown> | null;
}

export interface Followed {
  readonly state: ContainerState;
  readonly stoppedBy: 'timeout' | 'output' | null;
}

/** One running container, killed when its time, its output or a volume's quota runs out. */
export class ContainerWatch {
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

  /** Resolves when it has ended. Throws `quota_exceeded` when it was killed for that, `in_doubt` when it vanished. */
  async follow(request: FollowRequest): Promise<Followed> {
    const { clock } = this.#parts;
    const stop = AbortSignal.any([request.signal, this.#ended.signal]);
    this.#kill = () => void this.#killUntilEnded(request.id, stop);
    if (this.#stoppedBy !== null) this.#kill();
    const cancelTimeout = clock.after(Math.max(0, request.leftMs), () => this.stop('timeout'));
    const watching = this.#watchQuotas(request, stop).catch((error: unknown) =>
      this.#parts.warn(`the quotas of container ${request.id} are not watched any more`, error),
    );
    try {
      const state = await this.#wait(request);
      if (this.#overQuota !== null) throw this.#overQuota;
      return { state, stoppedBy: this.#stoppedBy };
    } finally {
      cancelTimeout();
      this.#ended.abort();
      await watching;
    }
  }

  async #wait({ id, signal, outputEnded }: FollowRequest): Promise<ContainerState> {
    const { engine } = this.#parts;
    if (outputEnded !== null) await Promise.race([outputEnded, this.#waitOnce(id, signal)]);
    for (let looks = 0; ; looks += 1) {
      const state = await readState(engine, id, signal);
      if (state === null) throw new SvcError('in_doubt', 'the container was removed from the engine while it ran');
      if (state.phase === 'ended') return state;
      // The output ends a moment before the engine has noted the end.
      if (outputEnded !== null && looks < QUICK_LOOKS) await engine.pause(QUICK_LOOK_MS, signal);
      else await this.#waitOnce(id, signal);
    }
  }

  async #waitOnce(id: string, signal: AbortSignal): Promise<void> {
    const { engine } = this.#parts;
    try {
      await engine.once(signal, (docker, stop) => docker.getContainer(id).wait({ abortSignal: stop }), LONGEST_WAIT_MS);
    } catch {
      // Whatever it was, the next look at the state tells more.
      await engine.pause(LOOK_EVERY_MS, signal);
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
      await engine.pause(quotaEveryMs, stop);
      if (stop.aborted) return;
      const over = await checkQuotas(this.#parts, tenant, limited);
      if (over === null) continue;
      this.#overQuota = over;
      return this.#killUntilEnded(id, stop);
    }
  }
}

/** The first volume that holds more than it may; a look that failed is no verdict. */
export async function checkQuotas(
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
