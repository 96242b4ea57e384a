import { type Address, tenantOf } from '../address.ts';

/** BullMQ's highest priority number; the lowest is taken first. */
const HIGHEST = 2_097_151;
/** So far ahead of what is served, at most: a job that is queued once more moves its tenant on, too. */
const MOST_AHEAD = 50_000;
const MOST_TENANTS = 10_000;

/**
 * The order in which one queue's jobs are taken, as BullMQ's priorities: start-time fair queueing. A tenant's next job comes
 * one behind its last, and no earlier than the job that was taken last, so that tenants are served in turn whatever one of
 * them has queued, and none waits for ever. Each process counts for itself and goes by the jobs it takes; it begins anew
 * whenever it finds the queue empty. Beyond two million jobs without that, all have the same number: first in, first out.
 */
export class FairOrder {
  #now = 1;
  readonly #last = new Map<string, number>();

  /** Of a job that is queued now. */
  next(address: Address): number {
    const tenant = tenantOf(address);
    const behind = Math.min((this.#last.get(tenant) ?? 0) + 1, this.#now + MOST_AHEAD);
    const number = Math.min(HIGHEST, Math.max(this.#now, behind));
    if (this.#last.size >= MOST_TENANTS) this.#forgetServed();
    this.#last.set(tenant, number);
    return number;
  }

  /** A job with this number was taken. */
  taken(number: number): void {
    if (number > 0) this.#now = number;
  }

  /** Nothing waits. */
  empty(): void {
    this.#now = 1;
    this.#last.clear();
  }

  /** Of a tenant whose last job was taken the number says nothing. */
  #forgetServed(): void {
    for (const [tenant, number] of this.#last) if (number <= this.#now) this.#last.delete(tenant);
    if (this.#last.size >= MOST_TENANTS) this.#last.clear();
  }
}
