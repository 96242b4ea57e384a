import type { EventLog, Journal, JournalRow, Lease, Unsubscribe } from '../actor-store.ts';
import type { Address, Log, Partition } from '../address.ts';
import { partsOf, positionOf } from '../journal-position.ts';
import type { Bulletins } from './bulletins.ts';
import type { Connection } from './connection.ts';
import { readEntries } from './entries.ts';
import { redisFailure } from './failure.ts';
import { fenceOf, type Keys } from './keys.ts';
import { integer, list, text } from './reply.ts';
import type { SectionCalls } from './sections.ts';

/** Event streams and the journal. */
export class RedisHistory implements EventLog, Journal {
  readonly #connection: Connection;
  readonly #calls: SectionCalls;
  readonly #bulletins: Bulletins;
  readonly #keys: Keys;

  constructor(connection: Connection, calls: SectionCalls, bulletins: Bulletins, keys: Keys) {
    this.#connection = connection;
    this.#calls = calls;
    this.#bulletins = bulletins;
    this.#keys = keys;
  }

  async readEvents(
    partition: Partition,
    address: Address,
    after: number,
    limit: number,
  ): Promise<{ readonly seq: number; readonly data: string }[]> {
    try {
      const key = this.#keys.events(partition, address);
      const rows = await this.#connection.xrange(key, String(after + 1), '+', 'COUNT', limit);
      return rows.map(([id, fields]) => ({ seq: integer(id.slice(0, id.indexOf('-'))), data: text(fields[1]) }));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  onEvents(address: Address, wake: () => void): Unsubscribe {
    return this.#bulletins.listen(this.#keys.eventBell(address), () => wake(), { awaited: false, missed: wake });
  }

  async readJournal(log: Log, after: number, limit: number): Promise<JournalRow[]> {
    const { journal, mail } = this.#keys.of(log);
    const reply = await this.#calls.call('read_journal', log, (keys, args) => {
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
    const { meta, journal, mail } = this.#keys.of(log);
    await this.#calls.call('trim_journal', log, (keys, args) => {
      const last = partsOf(upTo);
      keys.push(meta, journal, mail);
      args.push(fenceOf(lease), last.upTo, last.beside);
    });
  }
}
