import type { Lease, MailboxEntry, Unsubscribe } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Bulletins } from './bulletins.ts';
import { unpackEntries } from './entries.ts';
import type { Keys } from './keys.ts';

/**
 * Bells and the entries they carry. A bell that says what came in saves its hearer the poll: `take` answers it from
 * here. An entry never changes once it has its number, so a late bell is at worst useless.
 */
export class Bells {
  readonly #bulletins: Bulletins;
  readonly #keys: Keys;
  readonly #carried = new Map<Partition, MailboxEntry[]>();

  constructor(bulletins: Bulletins, keys: Keys) {
    this.#bulletins = bulletins;
    this.#keys = keys;
  }

  onBell(node: string, ring: (partition: Partition) => void): Unsubscribe {
    return this.#bulletins.listen(this.#keys.bell(node), (message) => {
      for (const [partition, entries] of readBells(message)) {
        if (entries.length > 0) this.#carried.set(partition, entries);
        ring(partition);
      }
    });
  }

  /** Entries right behind `after`, when a bell brought them; null: ask the server. Answers them once. */
  take({ partition }: Lease, after: number, limit: number): MailboxEntry[] | null {
    const entries = this.#carried.get(partition);
    if (entries === undefined) return null;
    this.#carried.delete(partition);
    if (entries[0]?.seq !== after + 1) return null;
    return entries.length <= limit ? entries : entries.slice(0, limit);
  }

  /** A server that lost its connection may come back without its last writes: what it told before does not count. */
  forget(): void {
    this.#carried.clear();
  }
}

export const isPartition = (name: string): name is Partition => /^.+:\d+$/.test(name);

/**
 * Lines `partition\tfirst seq\tat\tbody length…`, of a pack `partition\tfirst seq\tat\t=lengths\tbytes`, an empty line, the
 * bodies in a row (functions/_append_parts.lua).
 */
function readBells(message: Buffer): [Partition, MailboxEntry[]][] {
  const headEnd = message.indexOf('\n\n');
  const bells: [Partition, MailboxEntry[]][] = [];
  let position = headEnd + 2;
  for (const line of message.toString('utf8', 0, headEnd).split('\n')) {
    const [name = '', first, at, ...lengths] = line.split('\t');
    const [packed = ''] = lengths;
    if (packed.startsWith('=')) {
      const end = position + Number(lengths[1]);
      const bodies = message.toString('utf8', position, end);
      if (isPartition(name)) bells.push([name, unpackEntries(Number(first), Number(at), packed.slice(1), bodies)]);
      position = end;
      continue;
    }
    const entries: MailboxEntry[] = [];
    for (const length of lengths) {
      const end = position + Number(length);
      const body = message.toString('utf8', position, end);
      entries.push({ seq: Number(first) + entries.length, at: Number(at), body });
      position = end;
    }
    if (isPartition(name)) bells.push([name, entries]);
  }
  return bells;
}
