import type { EventLog, Journal, JournalRow, Lease, Unsubscribe } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { Bulletins } from './bulletins.ts';
import type { Connection } from './connection.ts';
import { redisFailure } from './failure.ts';
import { fenceOf, type Keys } from './keys.ts';
import { readEntries } from './mailboxes.ts';
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
    return this.#bulletins.listen(this.#keys.eventBell(address), () => wake(), false);
  }

  async readJournal(partition: Partition, after: number, limit: number): Promise<JournalRow[]> {
    const { journal, mail } = this.#keys.of(partition);
    const reply = await this.#calls.call('read_journal', partition, (keys, args) => {
      keys.push(journal, mail);
      args.push(after, limit);
    });
    return list(reply).map((found) => {
      const [upTo, , row, entries] = list(found);
      return { upTo: integer(upTo), row: text(row), entries: readEntries(list(entries), 0) };
    });
  }

  async trimJournal(lease: Lease, upTo: number): Promise<void> {
    const { partition } = lease;
    const { meta, journal, mail } = this.#keys.of(partition);
    await this.#calls.call('trim_journal', partition, (keys, args) => {
      keys.push(meta, journal, mail);
      args.push(fenceOf(lease), upTo);
    });
  }
}
