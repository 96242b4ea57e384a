import type { Directory } from '../actor-store.ts';
import { type Address, addressOf, type Partition, parseAddress } from '../address.ts';
import { SvcError } from '../errors.ts';
import { isPartition } from './bells.ts';
import type { Connection } from './connection.ts';
import { redisFailure } from './failure.ts';
import type { Keys } from './keys.ts';
import type { SectionCalls } from './sections.ts';

/** About how many entries a page of `placed` has. */
const PAGE = 250;
const CURSOR = /^\d{1,20}$/;

/** To place is to set if absent, then to read: no function is needed. */
export class RedisDirectory implements Directory {
  readonly #connection: Connection;
  readonly #calls: SectionCalls;
  readonly #keys: Keys;

  constructor(connection: Connection, calls: SectionCalls, keys: Keys) {
    this.#connection = connection;
    this.#calls = calls;
    this.#keys = keys;
  }

  async place(home: Partition, address: Address, partition: Partition): Promise<Partition> {
    try {
      if ((await this.#connection.hsetnx(this.#keys.of(home).directory, address, partition)) === 1) return partition;
    } catch (error) {
      throw redisFailure(error);
    }
    // Null only when it was removed between the two calls: then this placement may try again.
    return (await this.locate(home, address)) ?? this.place(home, address, partition);
  }

  async locate(home: Partition, address: Address): Promise<Partition | null> {
    try {
      const found = await this.#connection.hget(this.#keys.of(home).directory, address);
      return found === null ? null : partitionIn(found, address);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async unplace(home: Partition, address: Address, partition: Partition): Promise<boolean> {
    const removed = await this.#calls.call('unplace', home, (keys, args) => {
      keys.push(this.#keys.of(home).directory);
      args.push(address, partition);
    });
    return removed === 1;
  }

  async placed(home: Partition, page: string | null): ReturnType<Directory['placed']> {
    if (page !== null && !CURSOR.test(page)) {
      throw new SvcError('invalid_argument', 'page must be what an earlier page answered as next', { field: 'page' });
    }
    try {
      const [next, words] = await this.#connection.hscan(this.#keys.of(home).directory, page ?? '0', 'COUNT', PAGE);
      const entries = [];
      for (let n = 0; n + 1 < words.length; n += 2) {
        const [name = '', partition = ''] = words.slice(n, n + 2);
        const { kind, tenant, id } = parseAddress(name);
        entries.push({ address: addressOf(kind, tenant, id), partition: partitionIn(partition, name) });
      }
      return { entries, next: next === '0' ? null : next };
    } catch (error) {
      throw redisFailure(error);
    }
  }
}

function partitionIn(found: string, address: string): Partition {
  if (isPartition(found)) return found;
  throw new SvcError('internal', undefined, { cause: new TypeError(`directory entry of ${address} is unreadable`) });
}
