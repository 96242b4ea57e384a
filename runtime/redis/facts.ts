import { FORMAT } from '../format.ts';
import type { StoreFacts } from '../store-facts.ts';
import { type CallOrder, inOrder } from './call-order.ts';
import type { Connection } from './connection.ts';
import { redisFailure } from './failure.ts';
import type { Keys } from './keys.ts';
import { integer } from './reply.ts';
import type { SectionCalls } from './sections.ts';
import { taggedCount } from './slot-tags.ts';

/** Behind a pool's count: programs of format 1 read the count alone at their start, and refuse what is no number. */
const MARK = ` format=${FORMAT}`;

/** A pool's count of partitions, with or without the mark. */
export const countOf = (value: unknown): number =>
  integer(typeof value === 'string' ? value.replace(/ format=\d+$/, '') : value);

/** Facts about the store in one hash. */
export class RedisFacts implements StoreFacts {
  readonly #connection: Connection;
  readonly #calls: SectionCalls;
  readonly #keys: Keys;
  readonly #order: CallOrder;

  constructor(connection: Connection, calls: SectionCalls, keys: Keys, order: CallOrder) {
    this.#connection = connection;
    this.#calls = calls;
    this.#keys = keys;
    this.#order = order;
  }

  async facts(): Promise<ReadonlyMap<string, string>> {
    try {
      return new Map(Object.entries(await this.#connection.hgetall(this.#keys.facts)));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async keepFact(name: string, value: string): Promise<void> {
    const { facts, factsAsked } = this.#keys;
    const number = this.#order.next();
    const reply = await this.#calls.call('keep_fact', facts, (keys, args) => {
      keys.push(facts, factsAsked);
      args.push(name, value, this.#order.caller, number);
    });
    inOrder(reply);
  }

  #marked(count: number): string {
    return this.#keys.hasTags ? taggedCount(count) : `${count}${MARK}`;
  }

  async refuseOlderPrograms(): Promise<void> {
    const { pools } = this.#keys;
    try {
      const counts = Object.entries(await this.#connection.hgetall(pools));
      // A count never changes once it is there, so this may come late or twice.
      for (const [pool, value] of counts) await this.#connection.hset(pools, pool, this.#marked(countOf(value)));
    } catch (error) {
      throw redisFailure(error);
    }
  }
}
