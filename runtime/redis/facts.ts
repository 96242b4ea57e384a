import { FORMAT } from '../format.ts';
import type { StoreFacts } from '../store-facts.ts';
import type { Connection } from './connection.ts';
import { redisFailure } from './failure.ts';
import type { Keys } from './keys.ts';
import { integer } from './reply.ts';

/** Behind a pool's count: programs of format 1 read the count alone at their start, and refuse what is no number. */
const MARK = ` format=${FORMAT}`;

/** A pool's count of partitions, with or without the mark. */
export const countOf = (value: unknown): number =>
  integer(typeof value === 'string' ? value.replace(/ format=\d+$/, '') : value);

/** Facts about the store in one hash. */
export class RedisFacts implements StoreFacts {
  readonly #connection: Connection;
  readonly #keys: Keys;

  constructor(connection: Connection, keys: Keys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async facts(): Promise<ReadonlyMap<string, string>> {
    try {
      return new Map(Object.entries(await this.#connection.hgetall(this.#keys.facts)));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async keepFact(name: string, value: string): Promise<void> {
    try {
      await this.#connection.hset(this.#keys.facts, name, value);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async refuseOlderPrograms(): Promise<void> {
    const { pools } = this.#keys;
    try {
      const counts = Object.entries(await this.#connection.hgetall(pools));
      // A count never changes once it is there, so this may come late or twice.
      for (const [pool, value] of counts) await this.#connection.hset(pools, pool, `${countOf(value)}${MARK}`);
    } catch (error) {
      throw redisFailure(error);
    }
  }
}
