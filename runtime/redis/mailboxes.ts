import type { AppendOutcome, Backlog, Mailboxes, Unread } from '../actor-store.ts';
import { type Address, isLog, isSharedLog, type Log, type Partition } from '../address.ts';
import { systemClock } from '../clock.ts';
import { SvcError } from '../errors.ts';
import type { Unsubscribe } from '../leases.ts';
import type { Delivery } from '../message.ts';
import { redisFailure } from './connection.ts';
import type { RedisCalls } from './fcall-batcher.ts';
import { Routes, seenField } from './keys.ts';
import { PackWriter } from './pack-writer.ts';
import type { PubSub } from './pubsub.ts';
import { integer, integerOrNull, list, readEntries, readReplies, replyIn, text } from './replies.ts';
import type { ServerTimes } from './wake-ups.ts';

/** Stored where a seen message has no recorded reply. */
const NO_REPLY = '\0';
/** Most deliveries of one section. More are sent as several sections, in order. */
const SECTION_DELIVERIES = 1_000;
/** Rows of one commit, one for each session, that are searched for the reply to a message whose number is known. */
const ROWS_BEHIND = 64;
/** Rows that are searched when the number is not known. */
const NEWEST_ROWS = 512;

export class RedisMailboxes implements Mailboxes {
  readonly #redis: RedisCalls;
  readonly #pubsub: PubSub;
  readonly #times: ServerTimes;
  readonly #packs: () => boolean;
  readonly #routes = new Routes();
  readonly #writer: PackWriter;

  /** `packs` is true when no program of format 2 is in the fleet. */
  constructor(redis: RedisCalls, pubsub: PubSub, times: ServerTimes, packs: () => boolean) {
    this.#redis = redis;
    this.#pubsub = pubsub;
    this.#times = times;
    this.#packs = packs;
    this.#writer = new PackWriter({
      clock: systemClock,
      calls: redis.calls,
      keys: redis.keys,
      times,
      routes: this.#routes,
      appendNamed: async (partition, delivery, bound, ageMs) => {
        const [outcome] = await this.#appendNamed(partition, [delivery], bound, ageMs);
        if (outcome === undefined) throw new SvcError('internal', 'the store returned no outcome');
        return outcome;
      },
    });
  }

  async append(
    partition: Partition,
    deliveries: readonly Delivery[],
    bound: number,
    ageMs = 0,
  ): Promise<AppendOutcome[]> {
    if (this.#packs() && deliveries.every(({ fresh }) => fresh === true)) {
      return Promise.all(deliveries.map((delivery) => this.#writer.append(partition, delivery, bound, ageMs)));
    }
    return this.#appendNamed(partition, deliveries, bound, ageMs);
  }

  /** Appends messages that the store recognises by their ids. */
  async #appendNamed(
    partition: Partition,
    deliveries: readonly Delivery[],
    bound: number,
    ageMs: number,
  ): Promise<AppendOutcome[]> {
    const now = await this.#times.nowOrRead(partition);
    const outcomes = await this.#appendAll(partition, deliveries, bound, now - ageMs);
    if (!outcomes.some(({ kind }) => kind === 'late')) return outcomes;
    // Either the message is late or the server time known here is outdated: ask the server.
    const sent = (await this.#times.ask(partition)) - ageMs;
    const late = deliveries.filter((_, n) => outcomes[n]?.kind === 'late');
    const again = (await this.#appendAll(partition, late, bound, sent)).values();
    return outcomes.map((outcome) => (outcome.kind === 'late' ? (again.next().value ?? outcome) : outcome));
  }

  async #appendAll(
    partition: Partition,
    deliveries: readonly Delivery[],
    bound: number,
    sent: number,
  ): Promise<AppendOutcome[]> {
    const sections: Promise<AppendOutcome[]>[] = [];
    for (let from = 0; from < deliveries.length; from += SECTION_DELIVERIES) {
      const part =
        deliveries.length <= SECTION_DELIVERIES ? deliveries : deliveries.slice(from, from + SECTION_DELIVERIES);
      sections.push(this.#appendSection(partition, part, bound, Math.floor(sent)));
    }
    return (await Promise.all(sections)).flat();
  }

  async #appendSection(
    partition: Partition,
    deliveries: readonly Delivery[],
    bound: number,
    sent: number,
  ): Promise<AppendOutcome[]> {
    const { meta, mail, older, depths, held } = this.#redis.keys.of(partition);
    const reply = await this.#redis.calls.call('append', partition, (keys, args) => {
      keys.push(meta, mail, older, depths, held);
      args.push(bound, this.#packs() ? 1 : 0, sent, deliveries.length);
      for (const { id, to, body } of deliveries) args.push(seenField(id), to, body);
    });
    const outcomes = list(reply);
    this.#times.tell(partition, integer(outcomes.at(-1)));
    const log = text(outcomes.at(-2));
    const shared = isLog(log) && isSharedLog(log) ? { log } : {};
    return outcomes.slice(0, -2).map((outcome) => appendOutcome(outcome, shared));
  }

  async recallReply(
    partition: Partition,
    messageId: string,
    at: { readonly seq: number; readonly log?: Log | undefined } = { seq: 0 },
  ): Promise<string | null> {
    const { meta, older } = this.#redis.keys.of(partition);
    const field = seenField(messageId);
    try {
      const replies = await Promise.all([
        this.#redis.connection.hget(meta, field),
        this.#redis.connection.hget(older, field),
        this.#keptReply(at.log ?? partition, messageId, at.seq),
        // The log that took the message may not be known, because the answer to its append was lost.
        at.log === undefined && at.seq === 0 ? this.#keptReply(this.#routes.of(partition), messageId, 0) : null,
      ]);
      return replies.find((reply) => reply !== null && reply !== NO_REPLY) ?? null;
    } catch (error) {
      throw redisFailure(error);
    }
  }

  /** Searches the replies of commits that handled `seq` or later entries. Without `seq` it searches the newest rows. */
  async #keptReply(log: Log, messageId: string, seq: number): Promise<string | null> {
    const { replies } = this.#redis.keys.of(log);
    const rows =
      seq > 0
        ? await this.#redis.connection.xrange(replies, String(seq), '+', 'COUNT', ROWS_BEHIND)
        : await this.#redis.connection.xrevrange(replies, '+', '-', 'COUNT', NEWEST_ROWS);
    for (const [, [, packed = '']] of rows) {
      const reply = replyIn(packed, messageId);
      if (reply !== null) return reply;
    }
    return null;
  }

  async depth(partition: Partition, address: Address): Promise<number> {
    const { meta, mail, depths, held } = this.#redis.keys.of(partition);
    const reply = await this.#redis.calls.call('depth', partition, (keys, args) => {
      keys.push(meta, mail, depths, held);
      args.push(address);
    });
    return integer(reply);
  }

  async backlog(log: Log): Promise<Backlog> {
    const { meta, mail, postponed } = this.#redis.keys.of(log);
    const reply = await this.#redis.calls.call('backlog', log, (keys) => {
      keys.push(meta, mail, postponed);
    });
    const [cursor, tail, oldestAt] = list(reply);
    return { cursor: integer(cursor), tail: integer(tail), oldestAt: integerOrNull(oldestAt) };
  }

  async unread(partition: Partition, address: Address, after: number, limit: number): Promise<Unread> {
    const { meta, mail } = this.#redis.keys.of(partition);
    const reply = await this.#redis.calls.call('unread', partition, (keys, args) => {
      keys.push(meta, mail);
      args.push(address, after, limit);
    });
    const values = list(reply);
    const [behind, reached] = [integer(values[0]), integerOrNull(values[1])];
    const found = readEntries(values, 2, behind).filter((entry) => (entry.partition ?? partition) === partition);
    const entries = found.slice(0, limit);
    const last = entries.at(-1);
    return { entries, next: last !== undefined && found.length > limit ? last.seq : reached };
  }

  onReply(session: string, receive: (messageId: string, body: string) => void, missed?: () => void): Unsubscribe {
    const read = (message: Buffer): void =>
      readReplies(message, (messageId, body) => {
        this.#writer.answered(messageId);
        receive(messageId, body);
      });
    return this.#pubsub.listen(this.#redis.keys.replies(session), read, missed === undefined ? {} : { missed });
  }
}

function appendOutcome(reply: unknown, shared: { readonly log?: Log }): AppendOutcome {
  if (reply === 0) return { kind: 'late' };
  if (typeof reply === 'number') return { kind: 'accepted', seq: reply, ...shared };
  if (Array.isArray(reply)) return { kind: 'full', depth: integer(reply[0]) };
  const recorded = text(reply);
  return { kind: 'duplicate', reply: recorded === NO_REPLY ? null : recorded };
}
