import type { Directory } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import { isPartition } from './bells.ts';
import type { Connection } from './connection.ts';
import { redisFailure } from './failure.ts';
import type { Keys } from './keys.ts';

/** Set if absent, then read: no function is needed. */
export class RedisDirectory implements Directory {
  readonly #connection: Connection;
  readonly #keys: Keys;

  constructor(connection: Connection, keys: Keys) {
    this.#connection = connection;
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
      if (found === null) return null;
      if (isPartition(found)) return found;
    } catch (error) {
      throw redisFailure(error);
    }
    throw new SvcError('internal', undefined, { cause: new TypeError(`directory entry of ${address} is unreadable`) });
  }

  async unplace(home: Partition, address: Address): Promise<void> {
    try {
      await this.#connection.hdel(this.#keys.of(home).directory, address);
    } catch (error) {
      throw redisFailure(error);
    }
  }
}
