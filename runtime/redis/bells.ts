import type { Lease, MailboxEntry, Unsubscribe } from '../actor-store.ts';
import { isLog, type Log } from '../address.ts';
import type { Bulletins } from './bulletins.ts';
import { placeOf, unpackEntries } from './entries.ts';
import type { Keys } from './keys.ts';

/**
 * Bells and the entries they carry. A bell that says what came in saves its hearer the poll: `take` answers it from
 * here. An entry never changes once it has its number, so a late bell is at worst useless.
 */
export class Bells {
  readonly #bulletins: Bulletins;
  readonly #keys: Keys;
  readonly #carried = new Map<Log, MailboxEntry[]>();

  constructor(bulletins: Bulletins, keys: Keys) {
    this.#bulletins = bulletins;
    this.#keys = keys;
  }

  onBell(node: string, ring: (log: Log) => void): Unsubscribe {
    return this.#bulletins.listen(this.#keys.bell(node), (message) => {
      for (const [log, entries] of readBells(message)) {
        if (entries.length > 0) this.#carried.set(log, entries);
        ring(log);
      }
    });
  }

  /** Entries right behind `after`, when a bell brought them; null: ask the server. Answers them once. */
  take({ log }: Lease, after: number, limit: number): MailboxEntry[] | null {
    const entries = this.#carried.get(log);
    if (entries === undefined) return null;
    this.#carried.delete(log);
    if (entries[0]?.seq !== after + 1) return null;
    return entries.length <= limit ? entries : entries.slice(0, limit);
  }

  /** A server that lost its connection may come back without its last writes: what it told before does not count. */
  forget(): void {
    this.#carried.clear();
  }
}

/**
 * Lines `log\tfirst seq\tat\tbody length…`, of a pack `log\tfirst seq\tat\t=lengths\tbytes`, with `@partitions` in front of
 * the lengths where partitions share the log; an empty line, the bodies in a row (functions/_append_parts.lua).
 */
function readBells(message: Buffer): [Log, MailboxEntry[]][] {
  const headEnd = message.indexOf('\n\n');
  const bells: [Log, MailboxEntry[]][] = [];
  let position = headEnd + 2;
  for (const line of message.toString('utf8', 0, headEnd).split('\n')) {
    const [name = '', first, at, ...rest] = line.split('\t');
    const partitions = rest[0]?.startsWith('@') === true ? rest[0].slice(1) : '';
    const lengths = partitions === '' ? rest : rest.slice(1);
    const [packed = ''] = lengths;
    if (packed.startsWith('=')) {
      const end = position + Number(lengths[1]);
      const bodies = message.toString('utf8', position, end);
      if (isLog(name))
        bells.push([name, unpackEntries(Number(first), Number(at), packed.slice(1), bodies, partitions)]);
      position = end;
      continue;
    }
    const entries: MailboxEntry[] = [];
    const names = partitions.split(',');
    for (const length of lengths) {
      const end = position + Number(length);
      const body = message.toString('utf8', position, end);
      entries.push({ seq: Number(first) + entries.length, at: Number(at), body, ...placeOf(names[entries.length]) });
      position = end;
    }
    if (isLog(name)) bells.push([name, entries]);
  }
  return bells;
}
