import { type Address, tenantOf } from '../address.ts';

/** How long a tenant counts as one that may ask for a place. */
const ABOUT_MS = 60 * 60_000;
const MOST_TENANTS = 10_000;
/** A tenant may have so many places for each that is free. */
const PER_FREE = 3;

/**
 * The places of one process for effects, shared by tenants: while others are about, one tenant has at most three times
 * what is free, so that two thirds to three quarters is what one alone can hold and a place is left for the next. A
 * tenant that is alone may have all.
 */
export class FairPlaces {
  readonly #now: () => number;
  readonly #held = new Map<string, number>();
  /** When each asked last, longest ago first. */
  readonly #about = new Map<string, number>();
  #free: number;

  constructor(places: number, now: () => number) {
    this.#free = places;
    this.#now = now;
  }

  get free(): number {
    return this.#free;
  }

  /** Whether a place may be taken for this actor's effect. */
  mayTake(address: Address): boolean {
    const tenant = tenantOf(address);
    this.#note(tenant);
    if (this.#free <= 0) return false;
    const held = this.#held.get(tenant) ?? 0;
    return this.#isAlone(tenant) || held < Math.max(1, PER_FREE * this.#free);
  }

  take(address: Address): void {
    const tenant = tenantOf(address);
    this.#free -= 1;
    this.#held.set(tenant, (this.#held.get(tenant) ?? 0) + 1);
  }

  giveBack(address: Address): void {
    const tenant = tenantOf(address);
    const left = (this.#held.get(tenant) ?? 1) - 1;
    this.#free += 1;
    if (left > 0) this.#held.set(tenant, left);
    else this.#held.delete(tenant);
  }

  #note(tenant: string): void {
    const now = this.#now();
    this.#about.delete(tenant);
    this.#about.set(tenant, now);
    for (const [oldest, at] of this.#about) {
      if (this.#about.size <= MOST_TENANTS && now - at <= ABOUT_MS) break;
      this.#about.delete(oldest);
    }
  }

  #isAlone(tenant: string): boolean {
    return this.#about.size === 1 && this.#about.has(tenant);
  }
}
