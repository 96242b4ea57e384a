import type { EffectJob, EffectSlot, JobOutcome, RunJob, StartedEffect } from '../effect-queue.ts';
import { type Flow, flowOf } from './effect-envelope.ts';
import { FairSlots } from './fair-slots.ts';

/**
 * Slots for effects that the process which committed them may run itself, so that no job is written, fetched and
 * removed for them. No tenant and no flow gets all of them (`FairSlots`). Losing them is harmless: the effect's record
 * decides, the claim decides who runs it, and the sweep of the partition's next holder finds what was lost with the
 * process (E1). Half of a node's slots are of this kind; the other half stays for effects of other nodes.
 */
export class LocalSlots {
  readonly slots: number;
  readonly #fair: FairSlots;
  readonly #run: RunJob;
  readonly #queue: (job: EffectJob, delayMs: number) => Promise<void>;
  readonly #onFault: (error: unknown) => void;
  readonly #running = new Map<string, Promise<void>>();

  /** `queue` takes jobs that must run later, on any node. */
  constructor(
    slots: number,
    run: RunJob,
    queue: (job: EffectJob, delayMs: number) => Promise<void>,
    onFault: (error: unknown) => void,
  ) {
    this.slots = slots;
    this.#fair = new FairSlots(slots, () => performance.now());
    this.#run = run;
    this.#queue = queue;
    this.#onFault = onFault;
  }

  /** Runs the job here and now. False: no slot is free. */
  take(job: EffectJob): boolean {
    if (this.#running.has(job.id)) return true;
    const flow = flowOf(job);
    if (!this.#fair.mayTake(flow)) return false;
    this.#fair.take(flow);
    this.#begin(job);
    return true;
  }

  /** Reserves a slot. Null: none is free. */
  reserve(effect: Pick<EffectJob, 'address' | 'fairnessKey'>): EffectSlot | null {
    const flow = flowOf(effect);
    if (!this.#fair.mayTake(flow)) return null;
    this.#fair.take(flow);
    return {
      run: (job, started) => this.#begin(job, started),
      free: () => this.#fair.giveBack(flow),
    };
  }

  /** Resolves when no job runs. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  #begin(job: EffectJob, started?: StartedEffect): void {
    const ended = this.#toTheEnd(job, started)
      .catch(this.#onFault)
      .finally(() => {
        // The same effect may run again here, when it ran ahead of a commit that did not happen.
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

/** BullMQ's highest priority number. Jobs with the lowest number are taken first. */
const HIGHEST = 2_097_151;

/** Most that a number may be ahead of the jobs being served. Queueing a job again also moves its flow on. */
const MOST_AHEAD = 50_000;

const MOST_FLOWS = 10_000;

/**
 * The order in which one queue's jobs are taken, as BullMQ's priorities: start-time fair queueing. Tenants are served
 * in turn, however many jobs one of them has queued, and within a tenant its flows (agents, workflows) are. Where n
 * flows have jobs queued, the next job of each gets a number n behind its last, so that together they advance by one
 * for each job. No job gets a number before the one taken last, so none waits for ever. Each process counts for itself,
 * following the jobs that it takes, and starts again when it finds the queue empty. After two million jobs without
 * that, all jobs get the same number: first in, first out.
 */
export class FairOrder {
  #now = 1;
  /** The number of the last job of each flow, by tenant. */
  readonly #last = new Map<string, Map<string, number>>();
  #flows = 0;

  /** Returns the number for a job that is queued now. */
  next({ tenant, key }: Flow): number {
    if (this.#flows >= MOST_FLOWS) this.#forgetAllServed();
    let flows = this.#last.get(tenant);
    if (flows === undefined) {
      flows = new Map();
      this.#last.set(tenant, flows);
    }
    const last = flows.get(key);
    this.#forgetServed(flows);
    const others = flows.size - (flows.has(key) ? 1 : 0);
    const behind = last === undefined || last < this.#now ? this.#now + others : last + others + 1;
    const number = Math.min(HIGHEST, behind, this.#now + MOST_AHEAD);
    if (!flows.has(key)) this.#flows += 1;
    flows.set(key, number);
    return number;
  }

  /** Notes that a job with this number was taken. */
  taken(number: number): void {
    if (number > 0) this.#now = number;
  }

  /** Starts again: no job waits. */
  empty(): void {
    this.#now = 1;
    this.#flows = 0;
    this.#last.clear();
  }

  /** Removes flows whose last job was taken: their numbers no longer matter. */
  #forgetServed(flows: Map<string, number>): void {
    for (const [key, number] of flows) {
      if (number < this.#now && flows.delete(key)) this.#flows -= 1;
    }
  }

  #forgetAllServed(): void {
    for (const [tenant, flows] of this.#last) {
      this.#forgetServed(flows);
      if (flows.size === 0) this.#last.delete(tenant);
    }
    if (this.#flows < MOST_FLOWS) return;
    this.#flows = 0;
    this.#last.clear();
  }
}
