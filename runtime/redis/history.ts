import type { Directory, EventAppend, EventLog, Journal, JournalRow, Lease } from '../actor-store.ts';
import { type Address, asAddress, isPartition, type Log, type Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import { partsOf, positionOf, type Subscription } from '../leases.ts';
import { redisFailure } from './connection.ts';
import { inOrder, type RedisCalls } from './fcall-batcher.ts';
import { fenceOf } from './keys.ts';
import type { PubSub } from './pubsub.ts';
import { integer, list, readEntries, text } from './replies.ts';

/**
 * Events in a notice: the number of the last one and, unless they are long, `,`-separated lengths in bytes and the events
 * without separators, in lines (functions/_commit_parts.lua).
 */
function readNews(address: Address, message: Buffer): EventAppend | undefined {
  const headEnd = message.indexOf(LINE_END);
  if (headEnd < 0) return undefined;
  let position = message.indexOf(LINE_END, headEnd + 1) + 1;
  const data: string[] = [];
  for (const length of message.toString('latin1', headEnd + 1, position - 1).split(',')) {
    const end = position + Number(length);
    data.push(message.toString('utf8', position, end));
    position = end;
  }
  return { address, first: integer(message.toString('latin1', 0, headEnd)) - data.length + 1, data };
}

const LINE_END = 10;

/**
 * The first `limit` events behind `after`. An entry has the number of its last event and a field for each
 * (functions/_commit_parts.lua), so the first entry may begin at or before `after`.
 */
function unpackEvents(
  rows: readonly [id: string, fields: readonly string[]][],
  after: number,
  limit: number,
): { readonly seq: number; readonly data: string }[] {
  const events = [];
  for (const [id, fields] of rows) {
    let seq = integer(id.slice(0, id.indexOf('-'))) - fields.length / 2;
    for (let at = 1; at < fields.length; at += 2) {
      seq += 1;
      if (events.length === limit) return events;
      if (seq > after) events.push({ seq, data: text(fields[at]) });
    }
  }
  return events;
}

/** Reads event streams and the journal, and trims the journal. */
export class RedisHistory implements EventLog, Journal {
  readonly #redis: RedisCalls;
  readonly #pubsub: PubSub;

  constructor(redis: RedisCalls, pubsub: PubSub) {
    this.#redis = redis;
    this.#pubsub = pubsub;
  }

  async readEvents(
    partition: Partition,
    address: Address,
    after: number,
    limit: number,
  ): Promise<{ readonly seq: number; readonly data: string }[]> {
    try {
      const key = this.#redis.keys.events(partition, address);
      const rows = await this.#redis.connection.xrange(key, String(after + 1), '+', 'COUNT', limit);
      return unpackEvents(rows, after, limit);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  onEvents(address: Address, wake: (news?: EventAppend) => void): Subscription {
    const receive = (message: Buffer): void => wake(readNews(address, message));
    return this.#pubsub.listen(this.#redis.keys.eventChannels(address), receive, {
      awaited: false,
      missed: () => wake(),
    });
  }

  async readJournal(log: Log, after: number, limit: number): Promise<JournalRow[]> {
    const { journal, mail } = this.#redis.keys.of(log);
    const reply = await this.#redis.calls.call('read_journal', log, (keys, args) => {
      const { upTo, beside } = partsOf(after);
      keys.push(journal, mail);
      args.push(`${upTo}-${beside}`, limit);
    });
    return list(reply).map((found) => {
      const [upTo, beside, from, row, entries] = list(found);
      const position = positionOf(integer(upTo), integer(beside));
      return { upTo: position, row: text(row), entries: readEntries(list(entries), 0, integer(from), integer(upTo)) };
    });
  }

  async trimJournal(lease: Lease, upTo: number): Promise<void> {
    const { log } = lease;
    const { meta, journal, mail } = this.#redis.keys.of(log);
    await this.#redis.calls.call('trim_journal', log, (keys, args) => {
      const last = partsOf(upTo);
      keys.push(meta, journal, mail);
      args.push(fenceOf(lease), last.upTo, last.beside);
    });
  }
}

/** About how many entries a page of `placed` has. */
const PAGE = 250;

const CURSOR = /^\d{1,20}$/;

export class RedisDirectory implements Directory {
  readonly #redis: RedisCalls;

  constructor(redis: RedisCalls) {
    this.#redis = redis;
  }

  async place(home: Partition, address: Address, partition: Partition): Promise<Partition> {
    return partitionIn(text(await this.#change('place', home, address, partition)), address);
  }

  async locate(home: Partition, address: Address): Promise<Partition | null> {
    try {
      const found = await this.#redis.connection.hget(this.#redis.keys.of(home).directory, address);
      return found === null ? null : partitionIn(found, address);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async unplace(home: Partition, address: Address, partition: Partition): Promise<boolean> {
    return (await this.#change('unplace', home, address, partition)) === 1;
  }

  async #change(what: 'place' | 'unplace', home: Partition, address: Address, partition: Partition): Promise<unknown> {
    const { directory, directoryAsked } = this.#redis.keys.of(home);
    const number = this.#redis.order.next();
    const reply = await this.#redis.calls.call('directory', home, (keys, args) => {
      keys.push(directory, directoryAsked);
      args.push(what, address, partition, this.#redis.order.caller, number);
    });
    return inOrder(reply);
  }

  async placed(home: Partition, page: string | null): ReturnType<Directory['placed']> {
    if (page !== null && !CURSOR.test(page)) {
      throw new SvcError('invalid_argument', 'page: expected the next of an earlier page', { field: 'page' });
    }
    try {
      const [next, words] = await this.#redis.connection.hscan(
        this.#redis.keys.of(home).directory,
        page ?? '0',
        'COUNT',
        PAGE,
      );
      const entries = [];
      for (let n = 0; n + 1 < words.length; n += 2) {
        const [name = '', partition = ''] = words.slice(n, n + 2);
        entries.push({ address: asAddress(name), partition: partitionIn(partition, name) });
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
