import type { ActorStore, Directory } from './actor-store.ts';
import { type Address, type Partition, partitionsOf } from './address.ts';
import type { Registry } from './define-actor.ts';
import type { Unsubscribe } from './leases.ts';

/** Addresses remembered: about 10 MB. */
const REMEMBERED = 50_000;

/**
 * Finds the partition of an address (K1): its home, unless its kind may live elsewhere and a directory entry in
 * the home's slot says so. An entry never changes while its actor lives, so it is remembered; that an actor has none
 * is remembered only once it was seen at home.
 */
export class Locator {
  readonly #registry: Registry;
  readonly #directory: Directory;
  readonly #known = new Map<Address, Partition>();

  constructor(registry: Registry, directory: Directory) {
    this.#registry = registry;
    this.#directory = directory;
  }

  /** Where it lives when that needs no question. */
  known(address: Address): Partition | undefined {
    if (this.#registry.definitionOf(address)?.placed !== true) return this.#registry.homeOf(address);
    return this.#known.get(address);
  }

  async locate(address: Address): Promise<Partition> {
    const known = this.known(address);
    if (known !== undefined) return known;
    const home = this.#registry.homeOf(address);
    const found = await this.#directory.locate(home, address);
    if (found === null) return home;
    this.note(address, found);
    return found;
  }

  /** Gives an address that has no actor yet a place; the first word counts, also against other processes. */
  async place(address: Address, partition: Partition): Promise<Partition> {
    const placed = await this.#directory.place(this.#registry.homeOf(address), address, partition);
    this.note(address, placed);
    return placed;
  }

  /**
   * The actor at that place was archived: who asks for it goes to its home, and from there to the archive. An entry that
   * names another place by now stays. Answers whether one was removed.
   */
  async unplace(address: Address, partition: Partition): Promise<boolean> {
    if (this.#registry.definitionOf(address)?.placed !== true) return false;
    this.#known.delete(address);
    return this.#directory.unplace(this.#registry.homeOf(address), address, partition);
  }

  note(address: Address, partition: Partition): void {
    if (this.#registry.definitionOf(address)?.placed !== true) return;
    this.#known.delete(address);
    this.#known.set(address, partition);
    if (this.#known.size <= REMEMBERED) return;
    const oldest = this.#known.keys().next();
    if (oldest.done !== true) this.#known.delete(oldest.value);
  }

  forget(address: Address): void {
    this.#known.delete(address);
  }

  /** The store went back: entries that it had may be gone, and made anew elsewhere. */
  forgetAll(): void {
    this.#known.clear();
  }
}

/** What one node should serve. */
export interface Assignment {
  readonly wanted: ReadonlySet<Partition>;
  /** Pools whose effects this node takes (E1). */
  readonly queues: readonly string[];
}

/**
 * Who serves what (P1, P2), as the kernel sees it: asked at each renewal and whenever `onChange` rings. Each
 * node computes the same answer from the same members; where two disagree for a moment, the lease decides.
 * Implemented by `solePlacement` below for one process, and by `FleetPlacement` of the cluster.
 */
export interface Placement {
  /** UUID of this life of the node. */
  readonly incarnation: string;
  /** Takes the node lease. */
  join(): Promise<void>;
  /** Extends the node lease and looks at who is there. Throws `unavailable`; `lease_lost` when the node lease is gone. */
  assign(): Promise<Assignment>;
  /** Every life (`node/incarnation`) that held a node lease at the last look; none where no others are known. */
  incarnations(): readonly string[];
  /** Whether a node (`node`), or one life of it (`node/incarnation`), held its node lease at the last look. */
  isLive(holder: string): boolean;
  /**
   * Whether it holds no node lease, by a look that began after the question: what it held may be taken at once. A node
   * that joined a moment ago is never mistaken for a dead one.
   */
  isGone(holder: string): Promise<boolean>;
  /**
   * Whether that life (`node/incarnation`) of a node is gone and was seen to end: by a peer, by itself, or by the life
   * that followed it. One that only let its lease run out may be cut off or frozen, and still at work.
   */
  hasEnded(holder: string): Promise<boolean>;
  /** Whether some member would serve the pool; reads the members anew when it saw none. */
  isServed(pool: string): Promise<boolean>;
  /** Rings when `assign` may answer something else: members came, left or changed, or a partition was given back. */
  onChange(wake: () => void): Unsubscribe;
  /** Tells the others that partitions were given back, so that they need not wait for their next look. */
  freed(): Promise<void>;
  /** A pool was defined: this node and the others should look who serves it. */
  poolDefined(): Promise<void>;
  /** From now on this node wants nothing, and the others know (P2, drain). */
  drain(): Promise<void>;
  /** Ends the node lease. */
  leave(): Promise<void>;
}

/** Effects and actors that need tags live in a pool named after the sorted tags (P1); none: `default`. */
export function poolOfTags(tags: readonly string[]): string {
  const sorted = [...new Set(tags)].sort();
  return sorted.length === 0 ? 'default' : sorted.map((tag) => `+${tag}`).join('');
}

/** The tags a pool is for; empty for `default` and `system`. */
export const tagsOfPool = (pool: string): string[] => (pool.startsWith('+') ? pool.slice(1).split('+') : []);

/**
 * Placement of a process that looks at no others: it wants every partition that is free and takes jobs of every pool.
 * For a kernel of its own; nodes of a fleet have the one of `cluster/placement`.
 */
export function solePlacement(store: Pick<ActorStore, 'pools'>, node: string, incarnation: string): Placement {
  // An earlier life of this node has ended (its data directory is locked); of others nothing is known.
  const isLive = (holder: string): boolean => !holder.startsWith(`${node}/`) || holder === `${node}/${incarnation}`;
  let drains = false;
  return {
    incarnation,
    async join() {},
    async assign() {
      const pools = await store.pools();
      return { wanted: new Set(pools.flatMap(partitionsOf)), queues: pools.map(({ pool }) => pool) };
    },
    incarnations: () => [],
    isLive,
    isGone: async (holder) => !isLive(holder),
    hasEnded: async (holder) => !isLive(holder),
    isServed: async () => !drains,
    onChange: () => () => {},
    async freed() {},
    async poolDefined() {},
    async drain() {
      drains = true;
    },
    async leave() {},
  };
}
