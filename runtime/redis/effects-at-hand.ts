import type { EffectJob, EffectPlace, JobOutcome, RunJob, StartedEffect } from '../effect-queue.ts';
import { FairPlaces } from '../effects/fair-places.ts';
import { flowOf } from '../effects/flow.ts';

/**
 * Places for effects that the process which committed them may run itself: no job is written, fetched and removed for
 * them. No tenant and no flow has all of them (`FairPlaces`). Nothing rests on it: the effect's record is the truth, the
 * claim decides who runs it, and what is lost with the process is found by the sweep of the partition's next holder (design E1). Half of a node's places are these, so the
 * other half is always there for what comes from other nodes.
 */
export class EffectsAtHand {
  readonly places: number;
  readonly #fair: FairPlaces;
  readonly #run: RunJob;
  readonly #queue: (job: EffectJob, delayMs: number) => Promise<void>;
  readonly #onFault: (error: unknown) => void;
  readonly #running = new Map<string, Promise<void>>();

  /** `queue` takes what is to be done later, by whomever. */
  constructor(
    places: number,
    run: RunJob,
    queue: (job: EffectJob, delayMs: number) => Promise<void>,
    onFault: (error: unknown) => void,
  ) {
    this.places = places;
    this.#fair = new FairPlaces(places, () => performance.now());
    this.#run = run;
    this.#queue = queue;
    this.#onFault = onFault;
  }

  /** Runs it here, now. False: no place is free. */
  take(job: EffectJob): boolean {
    if (this.#running.has(job.id)) return true;
    const flow = flowOf(job);
    if (!this.#fair.mayTake(flow)) return false;
    this.#fair.take(flow);
    this.#begin(job);
    return true;
  }

  /** Null: no place is free. */
  reserve(effect: Pick<EffectJob, 'address' | 'fairnessKey'>): EffectPlace | null {
    const flow = flowOf(effect);
    if (!this.#fair.mayTake(flow)) return null;
    this.#fair.take(flow);
    return {
      run: (job, started) => this.#begin(job, started),
      free: () => this.#fair.giveBack(flow),
    };
  }

  /** Resolves when none runs. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  #begin(job: EffectJob, started?: StartedEffect): void {
    const ended = this.#toTheEnd(job, started)
      .catch(this.#onFault)
      .finally(() => {
        // The same effect may run again here: it was ahead of a commit that did not happen.
        if (this.#running.get(job.id) === ended) this.#running.delete(job.id);
        this.#fair.giveBack(flowOf(job));
      });
    this.#running.set(job.id, ended);
  }

  async #toTheEnd(job: EffectJob, started?: StartedEffect): Promise<void> {
    const outcome: JobOutcome = await this.#run(job, started);
    if (outcome.kind === 'later') await this.#queue(job, outcome.delayMs);
  }
}
