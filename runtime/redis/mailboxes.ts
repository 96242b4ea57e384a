import type { AppendOutcome, Backlog, Delivery, MailboxEntry, Mailboxes, Unsubscribe } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { Bulletins } from './bulletins.ts';
import type { Connection } from './connection.ts';
import { redisFailure } from './failure.ts';
import { depthField, type Keys, seenField } from './keys.ts';
import { integer, integerOrNull, list, text } from './reply.ts';
import type { SectionCalls } from './sections.ts';

/** Written where a seen message has no recorded reply. */
const NO_REPLY = '\0';
/** Deliveries of one section; more are sent as several, in order. */
const SECTION_DELIVERIES = 1_000;

export class RedisMailboxes implements Mailboxes {
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

  async append(partition: Partition, deliveries: readonly Delivery[], bound: number): Promise<AppendOutcome[]> {
    const sections: Promise<unknown>[] = [];
    for (let from = 0; from < deliveries.length; from += SECTION_DELIVERIES) {
      const part =
        deliveries.length <= SECTION_DELIVERIES ? deliveries : deliveries.slice(from, from + SECTION_DELIVERIES);
      sections.push(this.#appendSection(partition, part, bound));
    }
    const replies = await Promise.all(sections);
    return replies.flatMap((reply) => list(reply).map(appendOutcome));
  }

  #appendSection(partition: Partition, deliveries: readonly Delivery[], bound: number): Promise<unknown> {
    const { meta, mail, older } = this.#keys.of(partition);
    return this.#calls.call('append', partition, (keys, args) => {
      keys.push(meta, mail, older);
      args.push(bound, deliveries.length);
      for (const { id, to, body } of deliveries) args.push(seenField(id), depthField(to), body);
    });
  }

  async recallReply(partition: Partition, messageId: string): Promise<string | null> {
    const { meta, older } = this.#keys.of(partition);
    const field = seenField(messageId);
    try {
      const replies = await Promise.all([this.#connection.hget(meta, field), this.#connection.hget(older, field)]);
      return replies.find((reply) => reply !== null && reply !== NO_REPLY) ?? null;
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async depth(partition: Partition, address: Address): Promise<number> {
    try {
      const count = await this.#connection.hget(this.#keys.of(partition).meta, depthField(address));
      return count === null ? 0 : integer(count);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async backlog(partition: Partition): Promise<Backlog> {
    const { meta, mail } = this.#keys.of(partition);
    const reply = await this.#calls.call('backlog', partition, (keys) => {
      keys.push(meta, mail);
    });
    const [cursor, tail, oldestAt] = list(reply);
    return { cursor: integer(cursor), tail: integer(tail), oldestAt: integerOrNull(oldestAt) };
  }

  onReply(session: string, receive: (messageId: string, body: string) => void): Unsubscribe {
    return this.#bulletins.listen(this.#keys.replies(session), (message) => readReplies(message, receive));
  }
}

function appendOutcome(reply: unknown): AppendOutcome {
  if (typeof reply === 'number') return { kind: 'accepted', seq: reply };
  if (Array.isArray(reply)) return { kind: 'full', depth: integer(reply[0]) };
  const recorded = text(reply);
  return { kind: 'duplicate', reply: recorded === NO_REPLY ? null : recorded };
}

/** Length of what `seenField` puts in front of an id. */
const SEEN_MARK = seenField('').length;

/** `id length,body length;...`, a newline, then seen fields and bodies in a row; lengths in bytes (functions/_commit_parts.lua). */
function readReplies(message: Buffer, receive: (messageId: string, body: string) => void): void {
  const headEnd = message.indexOf(10);
  let position = headEnd + 1;
  for (const pair of message.toString('latin1', 0, headEnd).split(';')) {
    const comma = pair.indexOf(',');
    const idEnd = position + Number(pair.slice(0, comma));
    const bodyEnd = idEnd + Number(pair.slice(comma + 1));
    receive(message.toString('utf8', position + SEEN_MARK, idEnd), message.toString('utf8', idEnd, bodyEnd));
    position = bodyEnd;
  }
}

/** `{first seq, at, body, at, body ...}` as entries. */
export function readEntries(reply: readonly unknown[], offset: number): MailboxEntry[] {
  const entries: MailboxEntry[] = [];
  if (reply.length <= offset) return entries;
  let seq = integer(reply[offset]);
  for (let i = offset + 1; i < reply.length; i += 2) {
    entries.push({ seq, at: integer(reply[i]), body: text(reply[i + 1]) });
    seq += 1;
  }
  return entries;
}
