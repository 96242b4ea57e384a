import type { Flow } from '../effects/flow.ts';

/** BullMQ's highest priority number; the lowest is taken first. */
const HIGHEST = 2_097_151;
/** So far ahead of what is served, at most: a job that is queued once more moves its flow on, too. */
const MOST_AHEAD = 50_000;
const MOST_FLOWS = 10_000;

/**
 * The order in which one queue's jobs are taken, as BullMQ's priorities: start-time fair queueing. Tenants are served in
 * turn whatever one of them has queued, and within a tenant its flows (agents, workflows): where n of them have jobs
 * queued, the next job of each comes n behind its last, so that all of them together move on by one a job. No job comes
 * earlier than the one that was taken last, so none waits for ever. Each process counts for itself and goes by the jobs it
 * takes; it begins anew whenever it finds the queue empty. Beyond two million jobs without that, all have the same number:
 * first in, first out.
 */
export class FairOrder {
  #now = 1;
  /** The number of the last job of each flow, by tenant. */
  readonly #last = new Map<string, Map<string, number>>();
  #flows = 0;

  /** Of a job that is queued now. */
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

  /** A job with this number was taken. */
  taken(number: number): void {
    if (number > 0) this.#now = number;
  }

  /** Nothing waits. */
  empty(): void {
    this.#now = 1;
    this.#flows = 0;
    this.#last.clear();
  }

  /** Of a flow whose last job was taken the number says nothing. */
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
