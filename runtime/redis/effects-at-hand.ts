import type { EffectJob, JobOutcome } from '../effect-queue.ts';

/**
 * Places for effects that the process which committed them may run itself: no job is written, fetched and removed for
 * them. Nothing rests on it: the effect's record is the truth, the claim decides who runs it, and what is lost with the
 * process is found by the sweep of the partition's next holder (design E1). Half of a node's places are these, so the
 * other half is always there for what comes from other nodes.
 */
export class EffectsAtHand {
  readonly places: number;
  readonly #run: (job: EffectJob) => Promise<JobOutcome>;
  readonly #queue: (job: EffectJob, delayMs: number) => Promise<void>;
  readonly #onFault: (error: unknown) => void;
  readonly #running = new Map<string, Promise<void>>();

  /** `queue` takes what is to be done later, by whomever. */
  constructor(
    places: number,
    run: (job: EffectJob) => Promise<JobOutcome>,
    queue: (job: EffectJob, delayMs: number) => Promise<void>,
    onFault: (error: unknown) => void,
  ) {
    this.places = places;
    this.#run = run;
    this.#queue = queue;
    this.#onFault = onFault;
  }

  /** Runs it here, now. False: no place is free. */
  take(job: EffectJob): boolean {
    if (this.#running.has(job.id)) return true;
    if (this.#running.size >= this.places) return false;
    const ended = this.#toTheEnd(job)
      .catch(this.#onFault)
      .finally(() => this.#running.delete(job.id));
    this.#running.set(job.id, ended);
    return true;
  }

  /** Resolves when none runs. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  async #toTheEnd(job: EffectJob): Promise<void> {
    const outcome = await this.#run(job);
    if (outcome.kind === 'later') await this.#queue(job, outcome.delayMs);
  }
}
