import type { Flow } from './effect-envelope.ts';

/** A flow that has not asked for a place for so long no longer counts as active. */
const ABOUT_MS = 60 * 60_000;

const MOST_SHARERS = 10_000;

/** One of several active flows may hold at most so many places for each place that is free. */
const PER_FREE = 3;

/** A flow that is alone leaves this part of the places free, so that a new one starts at once. */
const KEPT_FREE = 1 / 16;

interface Share {
  held: number;
  askedAt: number;
}

interface TenantShare extends Share {
  readonly keys: Sharers<Share>;
}

/**
 * Places for effects, shared by tenants, and a tenant's by its flows (agents, workflows). While others are about, one has
 * at most three times what is free, so that two thirds to three quarters is what one can hold and a place is left for the
 * next. One that is alone may have all but a sixteenth of them (at each of the two levels): who comes later finds a place
 * though what runs hangs. Who holds nothing may have what its tenant has left.
 */
export class FairPlaces {
  readonly #now: () => number;
  readonly #tenants = new Sharers<TenantShare>();
  readonly #kept: number;
  #free: number;

  constructor(places: number, now: () => number) {
    this.#free = places;
    this.#kept = Math.floor(places * KEPT_FREE);
    this.#now = now;
  }

  get free(): number {
    return this.#free;
  }

  /** Whether a place may be taken for an effect of this flow. */
  mayTake(flow: Flow): boolean {
    const [tenant, key] = this.#sharesOf(flow);
    if (this.#free <= 0) return false;
    if (tenant.held === 0) return true;
    const room = this.#room(this.#tenants, tenant, this.#free);
    if (room <= 0) return false;
    return key.held === 0 || this.#room(tenant.keys, key, room) > 0;
  }

  take(flow: Flow): void {
    this.#free -= 1;
    for (const share of this.#sharesOf(flow)) share.held += 1;
  }

  giveBack(flow: Flow): void {
    this.#free += 1;
    for (const share of this.#sharesOf(flow)) share.held = Math.max(0, share.held - 1);
  }

  #sharesOf(flow: Flow): [TenantShare, Share] {
    const now = this.#now();
    const tenant = this.#tenants.of(flow.tenant, now, (share) => ({ ...share, keys: new Sharers<Share>() }));
    return [tenant, tenant.keys.of(flow.key, now, (share) => share)];
  }

  /** How many of the free places one may still take. */
  #room(sharers: Sharers<Share>, { held }: Share, free: number): number {
    if (sharers.size === 1) return free - this.#kept;
    return (PER_FREE * free - held) / (PER_FREE + 1);
  }
}

/** Those that have places or asked for one lately, longest ago first. */
class Sharers<S extends Share> {
  readonly #shares = new Map<string, S>();

  get size(): number {
    return this.#shares.size;
  }

  of(name: string, now: number, make: (share: Share) => S): S {
    const share = this.#shares.get(name) ?? make({ held: 0, askedAt: now });
    share.askedAt = now;
    this.#shares.delete(name);
    this.#shares.set(name, share);
    this.#forget(now);
    return share;
  }

  #forget(now: number): void {
    for (const [name, { held, askedAt }] of this.#shares) {
      if (this.#shares.size <= MOST_SHARERS && now - askedAt <= ABOUT_MS) return;
      if (held === 0) this.#shares.delete(name);
    }
  }
}

/** What waits for a place: a line for each flow, first in, first out; tenants in turn, and in each the flows in turn. */
export class FairLine<T> {
  /** The tenant whose turn is next comes first, and so the key in it. */
  readonly #tenants = new Map<string, Map<string, Set<T>>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether something of this flow waits. */
  has({ tenant, key }: Flow): boolean {
    return this.#tenants.get(tenant)?.has(key) === true;
  }

  add({ tenant, key }: Flow, item: T): void {
    const lines = entryOf(this.#tenants, tenant, () => new Map<string, Set<T>>());
    entryOf(lines, key, () => new Set<T>()).add(item);
    this.#size += 1;
  }

  /** The next of the first flow that may have a place; undefined: none may, or none waits. */
  take(mayTake: (item: T) => boolean = () => true): T | undefined {
    for (const [tenant, lines] of this.#tenants) {
      for (const [key, line] of lines) {
        const [item] = line;
        if (item === undefined || !mayTake(item)) continue;
        this.delete({ tenant, key }, item);
        toTheEnd(lines, key);
        toTheEnd(this.#tenants, tenant);
        return item;
      }
    }
    return undefined;
  }

  /** It does not wait any more. */
  delete({ tenant, key }: Flow, item: T): void {
    const lines = this.#tenants.get(tenant);
    const line = lines?.get(key);
    if (lines === undefined || line?.delete(item) !== true) return;
    this.#size -= 1;
    if (line.size === 0) lines.delete(key);
    if (lines.size === 0) this.#tenants.delete(tenant);
  }
}

function entryOf<V>(map: Map<string, V>, name: string, make: () => V): V {
  let found = map.get(name);
  if (found === undefined) {
    found = make();
    map.set(name, found);
  }
  return found;
}

/** Its turn was now. */
function toTheEnd<V>(map: Map<string, V>, name: string): void {
  const value = map.get(name);
  if (value === undefined || !map.delete(name)) return;
  map.set(name, value);
}
