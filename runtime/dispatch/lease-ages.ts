import type { Lease } from '../actor-store.ts';
import type { LogServer } from './log-server.ts';

/** When the node lease and each partition lease were last known to be ours. All times are monotonic milliseconds. */
export class LeaseAges {
  #seatedAt = Number.NEGATIVE_INFINITY;
  readonly #keptAt = new Map<LogServer, number>();
  /** Not later than any of `#keptAt`: looking at all of them at each turn would cost more than the turn. */
  #oldestAt = Number.POSITIVE_INFINITY;

  seated(at: number): void {
    this.#seatedAt = at;
  }

  kept(server: LogServer, at: number): void {
    this.#keptAt.set(server, at);
    this.#oldestAt = Math.min(this.#oldestAt, at);
  }

  drop(server: LogServer): void {
    const at = this.#keptAt.get(server);
    if (this.#keptAt.delete(server) && at === this.#oldestAt) this.look();
  }

  /** Leases that were not renewed since `before`. `renewedAt`: while the event loop was held up (`Leases.renewedAt`). */
  late(before: number, renewedAt: (lease: Lease) => number | null): LogServer[] {
    if (this.#oldestAt >= before) return [];
    for (const [server, at] of this.#keptAt) {
      const since = at < before ? renewedAt(server.lease) : null;
      if (since !== null && since > at) this.#keptAt.set(server, since);
    }
    this.look();
    return [...this.#keptAt].flatMap(([server, at]) => (at < before ? [server] : []));
  }

  /** After renewals, which `#oldestAt` does not follow by itself. */
  look(): void {
    this.#oldestAt = Math.min(Number.POSITIVE_INFINITY, ...this.#keptAt.values());
  }

  /** The oldest of all, the node's own with them. */
  get oldestAt(): number {
    return Math.min(this.#seatedAt, this.#oldestAt);
  }
}
