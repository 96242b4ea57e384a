import { type Partition, poolOf } from '../address.ts';
import type { LogServer } from './log-server.ts';

/** Who serves which partition here, which of them are going, and which stay beside the assignment. */
export class ServersHeld {
  readonly #servers = new Map<Partition, LogServer<Partition>>();
  readonly #leaving = new Set<LogServer<Partition>>();
  /** Held beside the assignment, since an actor was to start here (design P4). */
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

  /** A copy: who walks it may remove. */
  get all(): LogServer<Partition>[] {
    return [...this.#servers.values()];
  }

  add(server: LogServer<Partition>): void {
    this.#servers.set(server.lease.log, server);
  }

  remove(server: LogServer<Partition>): void {
    const { log: partition } = server.lease;
    // The node may hold the partition again under a later lease: what is noted for that one stays.
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

  /** A partition of the pool that stays here, each in its turn: one would serve all that starts here alone. */
  nextOf(pool: string): Partition | undefined {
    const staying = this.all.filter((one) => !this.#leaving.has(one));
    const ofPool = staying.map(({ lease }) => lease.log).filter((partition) => poolOf(partition) === pool);
    this.#turn += 1;
    return ofPool[this.#turn % ofPool.length];
  }

  /** Marks those that begin to go; answers which these are: not who was going already. */
  leave(servers: readonly LogServer<Partition>[]): LogServer<Partition>[] {
    const going = servers.filter((server) => !this.#leaving.has(server));
    for (const server of going) this.#leaving.add(server);
    return going;
  }

  left(servers: readonly LogServer<Partition>[]): void {
    for (const server of servers) this.#leaving.delete(server);
  }
}
