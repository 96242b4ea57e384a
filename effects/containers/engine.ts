import Docker from 'dockerode';
import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { sleep, untilAborted } from '../../runtime/kit/waits.ts';
import { type EngineLocation, isUnreachable, nameOf } from './engine-error.ts';

interface EngineOptions {
  readonly location: EngineLocation;
  readonly clock: Clock;
  /** How long a call is retried while the engine does not answer. */
  readonly patienceMs?: number;
  /** Time-out of a single call; pulls and waits have their own. */
  readonly callTimeoutMs?: number;
}

/** Properties of the engine. */
interface EngineFacts {
  readonly cpus: number;
  /** It runs without root: connections of its containers appear to come from this machine. */
  readonly rootless: boolean;
}

const PATIENCE_MS = 60_000;
const CALL_TIMEOUT_MS = 30_000;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 2_000;

/** A Docker or Podman engine. Retries calls while its API does not answer. */
export class ContainerEngine {
  readonly docker: Docker;
  readonly name: string;
  readonly #clock: Clock;
  readonly #patienceMs: number;
  readonly #callTimeoutMs: number;
  #facts: Promise<EngineFacts> | null = null;
  #interruptions = 0;
  /** Podman without catatonit has no init for containers. */
  hasInit = true;

  constructor({ location, clock, patienceMs = PATIENCE_MS, callTimeoutMs = CALL_TIMEOUT_MS }: EngineOptions) {
    // Explicit, so that dockerode never reads the environment of this process.
    this.docker = new Docker(location);
    this.name = nameOf(location);
    this.#clock = clock;
    this.#patienceMs = patienceMs;
    this.#callTimeoutMs = callTimeoutMs;
  }

  /** Number of calls that got no answer. */
  get interruptions(): number {
    return this.#interruptions;
  }

  facts(signal: AbortSignal): Promise<EngineFacts> {
    this.#facts ??= this.call(signal, async (docker) => factsOf(await docker.info())).catch((error: unknown) => {
      this.#facts = null;
      throw error;
    });
    return this.#facts;
  }

  /**
   * Calls the engine and retries while it does not answer: only for calls that may be executed twice. An error status is
   * thrown unchanged. Throws `unavailable` when the retries are used up, the signal's reason when that is aborted.
   */
  async call<T>(
    signal: AbortSignal,
    use: (docker: Docker, stop: AbortSignal) => Promise<T>,
    timeoutMs = this.#callTimeoutMs,
  ): Promise<T> {
    const since = this.#clock.monotonic();
    for (let delayMs = FIRST_BACKOFF_MS; ; delayMs = Math.min(MAX_BACKOFF_MS, delayMs * 2)) {
      try {
        return await this.once(signal, use, timeoutMs);
      } catch (error) {
        if (signal.aborted || !(error instanceof SvcError && error.code === 'unavailable')) throw error;
        if (this.#clock.monotonic() - since + delayMs > this.#patienceMs) throw error;
      }
      await this.sleep(delayMs, signal);
    }
  }

  /** One call. Throws `unavailable` without an answer: the call may or may not have been executed. */
  async once<T>(
    signal: AbortSignal,
    use: (docker: Docker, stop: AbortSignal) => Promise<T>,
    timeoutMs = this.#callTimeoutMs,
  ): Promise<T> {
    signal.throwIfAborted();
    const late = new AbortController();
    const cancel = this.#clock.after(timeoutMs, () => late.abort());
    try {
      const stop = AbortSignal.any([signal, late.signal]);
      // Some calls of the client ignore their signal.
      return await untilAborted(use(this.docker, stop), stop);
    } catch (error) {
      signal.throwIfAborted();
      if (!late.signal.aborted && !isUnreachable(error)) throw error;
      this.#interruptions += 1;
      throw new SvcError('unavailable', `the container engine at ${this.name} does not answer`, { cause: error });
    } finally {
      cancel();
    }
  }

  /** Resolves early when the signal aborts. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    return sleep(this.#clock, delayMs, signal);
  }
}

const Info = z.object({ NCPU: z.number().optional(), SecurityOptions: z.array(z.string()).nullish() });

function factsOf(info: unknown): EngineFacts {
  const { NCPU: cpus, SecurityOptions: options } = Info.parse(info);
  return { cpus: cpus || 1, rootless: (options ?? []).some((option) => option.includes('rootless')) };
}
