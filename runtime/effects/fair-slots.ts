import type { Flow } from './effect-envelope.ts';

/** A flow that requested no slot for this long no longer counts as active. */
const ABOUT_MS = 60 * 60_000;

const MOST_SHARERS = 10_000;

/** When several flows are active, each may hold this many slots for each free one. */
const PER_FREE = 3;

/** The share of slots that a flow leaves free while it is alone, so that a new one starts at once. */
const KEPT_FREE = 1 / 16;

interface Share {
  held: number;
  askedAt: number;
}

interface TenantShare extends Share {
  readonly keys: Sharers<Share>;
}

/**
 * Shares the slots for effects between tenants, and within a tenant between its flows (agents, workflows). While
 * several are active, each may hold at most three times as many slots as are free: one of them can then hold two
 * thirds to three quarters, and a slot is left for the next. While only one is active it may hold all but a sixteenth
 * (at each of the two levels), so that a new one finds a slot even when the running effects hang. A flow that holds
 * nothing may use any slot that its tenant has left.
 */
export class FairSlots {
  readonly #now: () => number;
  readonly #tenants = new Sharers<TenantShare>();
  readonly #kept: number;
  #free: number;

  constructor(slots: number, now: () => number) {
    this.#free = slots;
    this.#kept = Math.floor(slots * KEPT_FREE);
    this.#now = now;
  }

  get free(): number {
    return this.#free;
  }

  /** Whether an effect of this flow may take a slot. */
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

  /** How many of the free slots a flow or tenant may still take. */
  #room(sharers: Sharers<Share>, { held }: Share, free: number): number {
    if (sharers.size === 1) return free - this.#kept;
    return (PER_FREE * free - held) / (PER_FREE + 1);
  }
}

/** Flows or tenants that hold slots or requested one lately, in order of their last request, oldest first. */
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

/**
 * Items that wait for a slot: one line for each flow, first in, first out. Tenants take turns, and so do the flows
 * within each.
 */
export class FairLine<T> {
  /** In order of turns: the next tenant comes first, and in it the next flow. */
  readonly #tenants = new Map<string, Map<string, Set<T>>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether an item of this flow waits. */
  has({ tenant, key }: Flow): boolean {
    return this.#tenants.get(tenant)?.has(key) === true;
  }

  add({ tenant, key }: Flow, item: T): void {
    const lines = entryOf(this.#tenants, tenant, () => new Map<string, Set<T>>());
    entryOf(lines, key, () => new Set<T>()).add(item);
    this.#size += 1;
  }

  /** Takes the first item of the first flow that may have a slot. Undefined when none may, or none waits. */
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

  /** Removes an item from the line. */
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

/** Moves an entry to the end of the map after its turn. */
function toTheEnd<V>(map: Map<string, V>, name: string): void {
  const value = map.get(name);
  if (value === undefined || !map.delete(name)) return;
  map.set(name, value);
}
