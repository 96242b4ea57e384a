import type { DatabaseSync } from 'node:sqlite';
import type { AcquireOutcome, Lease } from '../actor-store.ts';
import type { Partition, PoolLayout } from '../address.ts';
import { besideAt } from './actor-store-commit.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import { integer, text } from './columns.ts';

/** Pools and leases (design K2, K4). */
export class LeaseTable {
  readonly #book: PartitionBook;
  readonly #define;
  readonly #count;
  readonly #pools;

  constructor(database: DatabaseSync, book: PartitionBook) {
    this.#book = book;
    this.#define = database.prepare('INSERT INTO pools (name, partitions) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#count = database.prepare('SELECT partitions FROM pools WHERE name = ?');
    this.#pools = database.prepare('SELECT name, partitions FROM pools ORDER BY name');
  }

  definePool(pool: string, partitions: number): number {
    this.#define.run(pool, partitions);
    const row = this.#count.get(pool);
    return row === undefined ? partitions : integer(row, 'partitions');
  }

  pools(): PoolLayout[] {
    return this.#pools.all().map((row) => ({ pool: text(row, 'name'), partitions: integer(row, 'partitions') }));
  }

  acquire(
    partition: Partition,
    node: string,
    grant: string,
    ttlMs: number,
    over: string | undefined,
    now: number,
  ): AcquireOutcome {
    const state = this.#book.get(partition);
    const { node: holder, grant: held, until } = state;
    if (holder !== null && held !== null && holder !== node && held !== over && until > now) {
      return { kind: 'held', by: holder, grant: held, remainingMs: until - now };
    }
    this.#book.changeRow(state);
    // The same grant again: its answer was lost.
    if (held !== grant || holder !== node) state.epoch += 1;
    state.grant = grant;
    state.node = node;
    state.until = now + ttlMs;
    const lease = { log: partition, node, epoch: state.epoch, grant };
    const nextTimerAt = this.#book.nextTimerAt(state);
    // The files of a data directory are kept, copied and restored together.
    const progress = { cursor: state.cursor, beside: besideAt(state), tail: state.tail };
    return { kind: 'granted', lease, ...progress, nextTimerAt, at: now, mayBeOlder: false };
  }

  renew(leases: readonly Lease[], ttlMs: number, now: number): Lease[] {
    return leases.filter((lease) => {
      const state = this.#book.held(lease);
      if (state === undefined) return true;
      this.#book.changeRow(state);
      state.until = now + ttlMs;
      return false;
    });
  }

  release(lease: Lease): void {
    const state = this.#book.held(lease);
    if (state === undefined) return;
    this.#book.changeRow(state);
    state.grant = null;
    state.node = null;
    state.until = 0;
  }
}
