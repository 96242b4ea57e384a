import type { Lease } from '../actor-store.ts';
import { isLog, isSharedLog, type Log } from '../address.ts';
import type { Unsubscribe } from '../leases.ts';
import type { MailboxEntry } from '../message.ts';
import type { Keys } from './keys.ts';
import type { LeaseThread } from './lease-thread.ts';
import type { PubSub } from './pubsub.ts';
import { placeOf, unpackEntries } from './replies.ts';

/**
 * Wake-ups and the entries that they carry. A wake-up with its entries saves the receiver a poll: `take` returns them
 * from here. An entry never changes once it has its number, so a late wake-up does no harm.
 */
export class WakeUps {
  readonly #pubsub: PubSub;
  readonly #keys: Keys;
  readonly #carried = new Map<Log, MailboxEntry[]>();

  constructor(pubsub: PubSub, keys: Keys) {
    this.#pubsub = pubsub;
    this.#keys = keys;
  }

  onWake(node: string, wake: (log: Log) => void): Unsubscribe {
    return this.#pubsub.listen(this.#keys.wakeUp(node), (message) => {
      for (const [log, entries] of readWakeUps(message)) {
        if (entries.length > 0) this.#carried.set(log, entries);
        wake(log);
      }
    });
  }

  /**
   * Returns the entries right behind `after` when a wake-up carried them, and returns them once. Null: ask the server.
   */
  take({ log }: Lease, after: number, limit: number): MailboxEntry[] | null {
    const entries = this.#carried.get(log);
    if (entries === undefined) return null;
    this.#carried.delete(log);
    if (entries[0]?.seq !== after + 1) return null;
    return entries.length <= limit ? entries : entries.slice(0, limit);
  }

  /** Drops all carried entries: a server that lost its connection may come back without its last writes. */
  forget(): void {
    this.#carried.clear();
  }
}

/**
 * Parses a wake-up: lines `log\tfirst seq\tat\tbody length…`, for a pack `log\tfirst seq\tat\t=lengths\tbytes`, with
 * `@partitions` in front of the lengths where partitions share the log; then an empty line and the bodies without
 * separators (functions/_append_parts.lua).
 */
function readWakeUps(message: Buffer): [Log, MailboxEntry[]][] {
  const headEnd = message.indexOf('\n\n');
  const wakeUps: [Log, MailboxEntry[]][] = [];
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
        wakeUps.push([name, unpackEntries(Number(first), Number(at), packed.slice(1), bodies, partitions)]);
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
    if (isLog(name)) wakeUps.push([name, entries]);
  }
  return wakeUps;
}

/**
 * Which life of the server granted each lease (functions/_prelude.lua). Poll and renewal name it: a server of another
 * life may have lost writes that the holder knows, so the lease must be taken again. A commit names it too: the server
 * then checks whether the entry at `upTo` is still the same.
 */
export class ServerLives {
  readonly #lives = new Map<Log, { readonly grant: string; readonly life: string }>();
  readonly #thread: LeaseThread | null;

  /** `thread` renews the leases granted here while the event loop is blocked. */
  constructor(thread: LeaseThread | null) {
    this.#thread = thread;
  }

  granted(lease: Lease, life: string, ttlMs: number): void {
    this.#lives.set(lease.log, { grant: lease.grant, life });
    this.#thread?.renewed(lease, life, ttlMs);
  }

  released(lease: Lease): void {
    const { log, grant } = lease;
    this.#thread?.released(lease);
    // The life of a partition's server is needed after its release too (`Leases.cameBackAt`). Each shared log has a new name.
    if (isSharedLog(log) && this.#lives.get(log)?.grant === grant) this.#lives.delete(log);
  }

  /** The life that granted a lease; empty when it is not known, and the server then checks. */
  at({ log, grant }: Lease): string {
    const known = this.#lives.get(log);
    return known?.grant === grant ? known.life : '';
  }
}

interface Known {
  readonly at: number;
  /** When the answer came, monotonic milliseconds. */
  readonly answeredAt: number;
}

/**
 * The clock of the server that has a log, as far as this process knows it: the last time that the server reported, plus
 * the monotonic time since that answer came. It is behind the server's clock by at most the transit time of an answer,
 * and never ahead unless that clock was set back. Appends use it to state when a message was first sent: the store
 * refuses messages older than the ids that it remembers.
 */
export class ServerTimes {
  readonly #ask: (log: Log) => Promise<number>;
  /** True when one server has all logs. */
  readonly #single: boolean;
  readonly #known = new Map<string, Known>();

  constructor(ask: (log: Log) => Promise<number>, single: boolean) {
    this.#ask = ask;
    this.#single = single;
  }

  /** The server's time; null when the server has not reported it yet. */
  now(log: Log): number | null {
    const known = this.#known.get(this.#serverOf(log));
    return known === undefined ? null : Math.floor(known.at + performance.now() - known.answeredAt);
  }

  /** The server's time; asks the server when it has not reported it yet. */
  async nowOrRead(log: Log): Promise<number> {
    return this.now(log) ?? (await this.ask(log));
  }

  /** Notes the time that the server just reported. */
  tell(log: Log, at: number): void {
    this.#known.set(this.#serverOf(log), { at, answeredAt: performance.now() });
  }

  async ask(log: Log): Promise<number> {
    const at = await this.#ask(log);
    this.tell(log, at);
    return at;
  }

  #serverOf(log: Log): string {
    return this.#single ? '' : log;
  }
}
