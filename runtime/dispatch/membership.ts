import { type Partition, poolOf } from '../address.ts';
import { toSvcError } from '../errors.ts';
import { SharedRuns } from '../kit/queues.ts';
import type { Assignment, Placement } from '../locator.ts';
import type { LogServer } from './log-server.ts';

interface MembershipParts {
  readonly placement: Placement;
  readonly warn: (message: string, error: unknown) => void;
}

interface MembershipEvents {
  /** Called when the node lease was lost: the partitions held under it are dropped. */
  lost(): void;
  /** Called when another process runs under this node's id. */
  superseded(): void;
}

const NOTHING: Assignment = { wanted: new Set(), queues: [] };

/** Membership of this node in the fleet, and its assignment, which is requested again with one call at a time. */
export class Membership {
  readonly #parts: MembershipParts;
  readonly #events: MembershipEvents;
  #assignment: Assignment = NOTHING;
  /** Many nodes may announce a change at once; one further call serves all of them. */
  readonly #questions = new SharedRuns(() => this.#ask());
  #leaving = false;

  constructor(parts: MembershipParts, events: MembershipEvents) {
    this.#parts = parts;
    this.#events = events;
  }

  /** The latest assignment. */
  get assignment(): Assignment {
    return this.#assignment;
  }

  join(): Promise<void> {
    return this.#parts.placement.join();
  }

  /** Stops taking the node lease again after it is lost. */
  leaving(): void {
    this.#leaving = true;
  }

  ask(): Promise<void> {
    return this.#questions.run();
  }

  async #ask(): Promise<void> {
    const { placement, warn } = this.#parts;
    try {
      this.#assignment = await placement.assign();
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'conflict') {
        // This is for good: a member that takes nothing would keep others from serving its share.
        this.#leaving = true;
        this.#assignment = NOTHING;
        this.#events.superseded();
      }
      if (error.code !== 'lease_lost') throw thrown;
      this.#events.lost();
      if (this.#leaving) throw thrown;
      warn('the node lease was lost; every partition is given up and the node joins again', error);
      await placement.join();
      this.#assignment = await placement.assign();
    }
  }
}

/**
 * The servers of the partitions held here, those that are being handed over, and those that are kept outside the
 * assignment.
 */
export class HeldServers {
  readonly #servers = new Map<Partition, LogServer<Partition>>();
  readonly #leaving = new Set<LogServer<Partition>>();
  /** Partitions kept outside the assignment, because an actor was to start on this node (P4). */
  readonly #kept = new Set<Partition>();
  #turn = 0;

  get(partition: Partition): LogServer<Partition> | undefined {
    return this.#servers.get(partition);
  }

  has(partition: Partition): boolean {
    return this.#servers.has(partition);
  }

  get partitions(): Iterable<Partition> {
    return this.#servers.keys();
  }

  get size(): number {
    return this.#servers.size;
  }

  /** A copy, so that callers may remove servers while they iterate. */
  get all(): LogServer<Partition>[] {
    return [...this.#servers.values()];
  }

  add(server: LogServer<Partition>): void {
    this.#servers.set(server.lease.log, server);
  }

  remove(server: LogServer<Partition>): void {
    const { log: partition } = server.lease;
    // The node may hold the partition again under a later lease: its entries stay.
    if (this.#servers.get(partition) !== server) return;
    this.#servers.delete(partition);
    this.#kept.delete(partition);
  }

  keep(partition: Partition): void {
    this.#kept.add(partition);
  }

  isKept(partition: Partition): boolean {
    return this.#kept.has(partition);
  }

  /**
   * A partition of the pool that stays here. They are used in turn, so that one does not get all actors that start
   * here.
   */
  nextOf(pool: string): Partition | undefined {
    const staying = this.all.filter((one) => !this.#leaving.has(one));
    const ofPool = staying.map(({ lease }) => lease.log).filter((partition) => poolOf(partition) === pool);
    this.#turn += 1;
    return ofPool[this.#turn % ofPool.length];
  }

  /** Marks servers as leaving. Returns those that were not marked before. */
  leave(servers: readonly LogServer<Partition>[]): LogServer<Partition>[] {
    const going = servers.filter((server) => !this.#leaving.has(server));
    for (const server of going) this.#leaving.add(server);
    return going;
  }

  left(servers: readonly LogServer<Partition>[]): void {
    for (const server of servers) this.#leaving.delete(server);
  }
}
