import type { Directory } from '../actor-store.ts';
import { type Address, addressOf, isPartition, type Partition, parseAddress } from '../address.ts';
import { SvcError } from '../errors.ts';
import { type CallOrder, inOrder } from './call-order.ts';
import type { Connection } from './connection.ts';
import { redisFailure } from './failure.ts';
import type { Keys } from './keys.ts';
import { text } from './reply.ts';
import type { SectionCalls } from './sections.ts';

/** About how many entries a page of `placed` has. */
const PAGE = 250;
const CURSOR = /^\d{1,20}$/;

export class RedisDirectory implements Directory {
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

  async place(home: Partition, address: Address, partition: Partition): Promise<Partition> {
    return partitionIn(text(await this.#change('place', home, address, partition)), address);
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
    return (await this.#change('unplace', home, address, partition)) === 1;
  }

  async #change(what: 'place' | 'unplace', home: Partition, address: Address, partition: Partition): Promise<unknown> {
    const { directory, directoryAsked } = this.#keys.of(home);
    const number = this.#order.next();
    const reply = await this.#calls.call('directory', home, (keys, args) => {
      keys.push(directory, directoryAsked);
      args.push(what, address, partition, this.#order.caller, number);
    });
    return inOrder(reply);
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
