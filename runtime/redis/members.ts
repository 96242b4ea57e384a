import type { PoolLayout } from '../address.ts';
import type { Unsubscribe } from '../leases.ts';
import { checkMember, checkSignal, type LiveMember, type Member, type Members, type MembersRead } from '../members.ts';
import { redisFailure } from './connection.ts';
import { countOf } from './facts.ts';
import { inOrder, type RedisCalls } from './fcall-batcher.ts';
import type { LeaseThread } from './lease-thread.ts';
import type { PubSub } from './pubsub.ts';
import { list, text } from './replies.ts';

const USUAL_TTL_MS = 6_000;

/**
 * Node leases in one hash, with times from the server's clock. Signals are pub/sub, which a Cluster carries to all its
 * nodes.
 */
export class RedisMembers implements Members {
  readonly #redis: RedisCalls;
  readonly #pubsub: PubSub;
  readonly #thread: LeaseThread | null;
  /** Lease term of this fleet: all nodes use the same. */
  #ttlMs = USUAL_TTL_MS;

  constructor(redis: RedisCalls, pubsub: PubSub, thread: LeaseThread | null) {
    this.#redis = redis;
    this.#pubsub = pubsub;
    this.#thread = thread;
  }

  async announce(member: Member, ttlMs: number, first: boolean): Promise<boolean> {
    checkMember(member);
    const { node, incarnation, card } = member;
    this.#ttlMs = Math.ceil(ttlMs);
    const isOurs = await this.#callInOrder('announce', [node, incarnation, card, this.#ttlMs, first ? 1 : 0]);
    if (isOurs) this.#thread?.joined(node, incarnation, this.#ttlMs);
    return isOurs;
  }

  async members(): Promise<LiveMember[]> {
    const { members } = this.#redis.keys;
    const reply = await this.#redis.calls.call('members', members, (keys, args) => {
      keys.push(members);
      args.push(this.#ttlMs);
    });
    return membersOf(list(reply).map(text));
  }

  async readMembers(node: string, known: string): Promise<MembersRead> {
    const { members, membersDue, membersVersion, membersChanges } = this.#redis.keys;
    const reply = await this.#redis.calls.call('look', members, (keys, args) => {
      keys.push(members, membersDue, membersVersion, membersChanges);
      args.push(this.#ttlMs, node, known);
    });
    return membersReadOf(list(reply).map(text));
  }

  async retire(node: string, incarnation: string): Promise<boolean> {
    this.#thread?.left(node, incarnation);
    return this.#callInOrder('retire', [node, incarnation]);
  }

  async isKnown(node: string, incarnation: string): Promise<boolean> {
    try {
      const row = await this.#redis.connection.hget(this.#redis.keys.members, node);
      return row?.split('\n', 2)[1] === incarnation;
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async pools(): Promise<PoolLayout[]> {
    try {
      const counts = Object.entries(await this.#redis.connection.hgetall(this.#redis.keys.pools));
      counts.sort(([a], [b]) => (a < b ? -1 : 1));
      return counts.map(([pool, count]) => ({ pool, partitions: countOf(count) }));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async signal(node: string | null, content: string): Promise<void> {
    checkSignal(node, content);
    const settled = this.#pubsub.settled();
    if (settled !== null) await settled;
    try {
      await this.#redis.connection.publish(
        node === null ? this.#redis.keys.signals : this.#redis.keys.signal(node),
        content,
      );
    } catch (error) {
      throw redisFailure(error);
    }
  }

  onSignal(node: string, receive: (content: string) => void): Unsubscribe {
    const onMessage = (message: Buffer) => receive(message.toString('utf8'));
    const stops = [this.#redis.keys.signal(node), this.#redis.keys.signals].map((channel) =>
      this.#pubsub.listen([channel], onMessage),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }

  async #callInOrder(name: string, words: readonly (string | number)[]): Promise<boolean> {
    const { members, membersAsked, membersDue, membersVersion, membersChanges } = this.#redis.keys;
    const number = this.#redis.order.next();
    const reply = await this.#redis.calls.call(name, members, (keys, args) => {
      keys.push(members, membersAsked, membersDue, membersVersion, membersChanges);
      args.push(...words, this.#redis.order.caller, number);
    });
    return inOrder(reply) === 1;
  }
}

/** Parses texts in groups of four: node, incarnation, `card` and remaining milliseconds. */
function membersOf(words: readonly string[]): LiveMember[] {
  const found: LiveMember[] = [];
  for (let n = 0; n + 3 < words.length; n += 4) {
    const [node = '', incarnation = '', card = '', remaining = ''] = words.slice(n, n + 4);
    found.push({ node, incarnation, card, remainingMs: Number(remaining) });
  }
  return found.sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** Parses the answer of `look` (functions/look.lua). */
function membersReadOf([version = '', soonest = '', scope = '', ...words]: readonly string[]): MembersRead {
  const members: Member[] = [];
  const gone: string[] = [];
  for (let n = 0; n + 2 < words.length; n += 3) {
    const [node = '', incarnation = '', card = ''] = words.slice(n, n + 3);
    if (incarnation === '') gone.push(node);
    else members.push({ node, incarnation, card });
  }
  members.sort((a, b) => (a.node < b.node ? -1 : 1));
  const soonestMs = soonest === '' ? Number.POSITIVE_INFINITY : Number(soonest);
  return { version, members, gone: scope === 'all' ? null : gone, soonestMs };
}
