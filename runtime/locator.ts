import type { ActorStore, Directory } from './actor-store.ts';
import { type Address, type Partition, partitionsOf } from './address.ts';
import type { Registry } from './define-actor.ts';
import type { Unsubscribe } from './leases.ts';

/** Number of addresses to cache: about 10 MB. */
const REMEMBERED = 50_000;

/**
 * Finds the partition of an address (K1). That is its home, unless its kind may live elsewhere and a directory entry in
 * the home's slot says so. An entry never changes while its actor lives, so it is cached. The absence of an entry is
 * cached only once the actor was seen at home.
 */
export class Locator {
  readonly #registry: Registry;
  readonly #directory: Directory;
  readonly #known = new Map<Address, Partition>();

  constructor(registry: Registry, directory: Directory) {
    this.#registry = registry;
    this.#directory = directory;
  }

  /** Returns the partition when it is known without a lookup. */
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

  /**
   * Sets the partition of an address that has no actor yet. The first placement counts, also against other processes.
   */
  async place(address: Address, partition: Partition): Promise<Partition> {
    const placed = await this.#directory.place(this.#registry.homeOf(address), address, partition);
    this.note(address, placed);
    return placed;
  }

  /**
   * Removes the directory entry of an archived actor, so that callers go to its home and from there to the archive. An
   * entry that names another partition by now stays. Returns whether an entry was removed.
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

  /**
   * Clears the cache, because the store returned to an older state: its entries may be gone or created again elsewhere.
   */
  forgetAll(): void {
    this.#known.clear();
  }
}

/** The partitions and queues that one node should serve. */
export interface Assignment {
  readonly wanted: ReadonlySet<Partition>;
  /** Pools whose effects this node runs (E1). */
  readonly queues: readonly string[];
}

/** `freed`: other nodes released partitions, and the members are as before. */
export type PlacementChange = 'members' | 'freed';

/**
 * Decides which node serves what (P1, P2). The kernel asks at each renewal and at each `onChange`. Each node computes
 * the same answer from the same members; where two disagree for a moment, the lease decides.
 * Implemented by `solePlacement` below for one process, and by `FleetPlacement` of the cluster.
 */
export interface Placement {
  /** UUID of this process of the node; a restart has another. */
  readonly incarnation: string;
  /** Takes the node lease. */
  join(): Promise<void>;
  /**
   * Extends the node lease and reads the members. Throws `unavailable`, or `lease_lost` when the node lease is gone.
   */
  assign(): Promise<Assignment>;
  /**
   * Every incarnation (`node/incarnation`) that held a node lease at the last read of the members; empty where no
   * others are known.
   */
  incarnations(): readonly string[];
  /**
   * Whether a node (`node`), or one incarnation of it (`node/incarnation`), held its node lease at the last read of the
   * members.
   */
  isLive(holder: string): boolean;
  /**
   * Whether `holder` holds no node lease, by a read of the members that began after this call. If so, its leases may be
   * taken over at once. A node that joined a moment ago is never considered dead.
   */
  isGone(holder: string): Promise<boolean>;
  /**
   * Whether that incarnation (`node/incarnation`) is known to have ended: a peer saw it end, it ended itself, or the
   * next incarnation of the node followed it. One whose lease only expired may be cut off or frozen, and still at work.
   */
  hasEnded(holder: string): Promise<boolean>;
  /** Whether a member would serve the pool. Reads the members again when it found none. */
  isServed(pool: string): Promise<boolean>;
  /** Calls back when `assign` may return something else (members joined, left or changed), or when partitions were released. */
  onChange(wake: (change: PlacementChange) => void): Unsubscribe;
  /** Signals the other nodes that partitions were released, so that they do not wait for their next read. */
  freed(): Promise<void>;
  /** Called when this node begins to serve a partition. */
  served?(partition: Partition): void;
  /** Signals this node and the others that a pool was defined, so that they check who serves it. */
  poolDefined(): Promise<void>;
  /** Makes this node want no partitions from now on, and tells the other nodes (P2, drain). */
  drain(): Promise<void>;
  /** Ends the node lease. */
  leave(): Promise<void>;
}

/** Name of the pool for a set of tags: the sorted tags (P1), or `default` without tags. */
export function poolOfTags(tags: readonly string[]): string {
  const sorted = [...new Set(tags)].sort();
  return sorted.length === 0 ? 'default' : sorted.map((tag) => `+${tag}`).join('');
}

/** The tags of a pool; empty for `default` and `system`. */
export const tagsOfPool = (pool: string): string[] => (pool.startsWith('+') ? pool.slice(1).split('+') : []);

/**
 * Placement of a process without other members: it wants every free partition and takes jobs of every pool. For a
 * kernel that runs alone; the nodes of a fleet use the one of `cluster/placement`.
 */
export function solePlacement(store: Pick<ActorStore, 'pools'>, node: string, incarnation: string): Placement {
  // An earlier incarnation of this node has ended, because its data directory is locked. Nothing is known of other
  // nodes.
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
