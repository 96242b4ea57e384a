import type { Cluster } from 'ioredis';
import type { Lease } from '../actor-store.ts';
import { type Address, isLog, isSharedLog, type Log, type Partition, type SharedLog } from '../address.ts';
import { formatFact, formatNoteText, TAGS_FORMAT } from '../store-formats.ts';

/**
 * Number of slots that hold the partitions of a store on Redis Cluster. More slots would make the shared logs smaller,
 * fewer would spread the load over the masters less evenly.
 */
export const SLOT_TAGS = 16;

/** Name of a shared log whose partitions share a hash tag with others (`SharedLogs.make`). */
const TAGGED_LOG = /^log-(t\d+)\./;

/**
 * Keys of one partition. All have the same hash tag, so that a function may use them together on Redis Cluster. A log that
 * partitions share has `meta`, `mail`, `journal`, `depths`, `replies` and `parts`.
 */
interface LogKeys {
  /** Hash: cursor, tail, lease, last commit, marks of writers, seen message ids. */
  readonly meta: string;
  /** Stream of mailbox entries, ids `<seq>-0`. */
  readonly mail: string;
  /** Hash: address → record. */
  readonly states: string;
  /** Stream of journal rows, ids `<upTo>-<results beside the mailbox>` (`positionOf`, leases.ts). */
  readonly journal: string;
  /** Hash: address → waiting client messages, while they are counted (functions/_append_parts.lua). */
  readonly depths: string;
  /** Hash: address → client messages that the actor holds back. */
  readonly held: string;
  /** Stream of replies, ids `<upTo>-n`, for clients that missed the publication. */
  readonly replies: string;
  /** Hash of seen message ids with their replies: the older generation. The newer one is in meta. */
  readonly older: string;
  /** Sorted set: timer id by due time. */
  readonly timers: string;
  readonly timerBodies: string;
  /** Hash: effect id → row. */
  readonly effects: string;
  readonly effectBodies: string;
  /** Stream of messages owed to other partitions, ids `<outbox seq>-0`. */
  readonly outbox: string;
  /** Stream of postponed messages, ids `<number in the log>-0`. */
  readonly postponed: string;
  /** Hash: address → number of its last event. */
  readonly eventTails: string;
  /** Hash: address → partition in which the actor lives. */
  readonly directory: string;
  /** Hash: process → number of its last change of the directory. */
  readonly directoryAsked: string;
  /** Set: partitions that share the log. */
  readonly parts: string;
}

/** Builds all keys and channels; no other code does (L4). */
export class Keys {
  /** Prefix of every pub/sub channel. */
  readonly channels: string;
  /** Hash: pool → number of partitions. */
  readonly pools: string;
  /** Hash: facts about the store as a whole. */
  readonly facts: string;
  /** Hash: process → number of its last change of the facts. */
  readonly factsAsked: string;
  /** Hash: node → its lease and `card` (functions/_member_rows.lua). */
  readonly members: string;
  /** Hash: process → number of its last change of the members. */
  readonly membersAsked: string;
  /** Sorted set: node → when its lease expires; only nodes whose programs maintain it. */
  readonly membersDue: string;
  /** Counter that grows with each change of the members. */
  readonly membersVersion: string;
  /** List: the latest of these changes. Releases that kept no life of the server in them have a list of their own. */
  readonly membersChanges: string;
  /** Channel of signals to all nodes. */
  readonly signals: string;
  /** Channel without messages: subscribing to it proves that the connection works. */
  readonly alive: string;
  readonly #prefix: string;
  readonly #logs = new Map<Log, LogKeys>();
  /** Tags of logs. */
  readonly #tags = new Map<string, string>();
  #hasTags = false;

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.channels = `${prefix}:`;
    this.pools = `${prefix}:pools`;
    this.facts = `${prefix}:facts`;
    this.members = `${prefix}:members`;
    // The hash tag is the other key's name, so both are in one slot.
    this.factsAsked = `{${this.facts}}:asked`;
    this.membersAsked = `{${this.members}}:asked`;
    this.membersDue = `{${this.members}}:due`;
    this.membersVersion = `{${this.members}}:version`;
    this.membersChanges = `{${this.members}}:recent`;
    this.signals = `${prefix}:signals`;
    this.alive = `${prefix}:alive`;
  }

  /**
   * Gives partitions one of `SLOT_TAGS` hash tags, by their number, so that a function may use the partitions of one
   * tag together on Redis Cluster. Call it before any key is built: the choice is made once for a store
   * (`hasSlotTags`, redis/keys.ts).
   */
  useTags(): void {
    this.#hasTags = true;
  }

  get hasTags(): boolean {
    return this.#hasTags;
  }

  /**
   * The hash tag that a log shares with others, `t` and a number. It is '' when the log has one of its own, or the name
   * is not a log's.
   */
  tagOf(name: string): string {
    if (!this.#hasTags) return '';
    const known = this.#tags.get(name);
    if (known !== undefined) return known;
    if (!isLog(name)) return '';
    const tag = isSharedLog(name)
      ? (TAGGED_LOG.exec(name)?.[1] ?? '')
      : `t${Number(name.slice(name.lastIndexOf(':') + 1)) % SLOT_TAGS}`;
    this.#tags.set(name, tag);
    return tag;
  }

  /** Beginning of the keys of a log (functions/_prelude.lua, `base_of`). */
  #baseOf(log: Log): string {
    const tag = this.tagOf(log);
    return tag === '' ? `{${this.#prefix}:${log}}` : `{${this.#prefix}:${tag}}:${log}`;
  }

  /** Hash: name of each shared log of a tag → when it was created. */
  logs(tag: string): string {
    return tag === '' ? `${this.#prefix}:logs` : `{${this.#prefix}:${tag}}:logs`;
  }

  of(log: Log): LogKeys {
    const known = this.#logs.get(log);
    if (known !== undefined) return known;
    const base = this.#baseOf(log);
    const keys: LogKeys = {
      meta: `${base}:meta`,
      mail: `${base}:mail`,
      states: `${base}:states`,
      journal: `${base}:journal`,
      depths: `${base}:depths`,
      held: `${base}:held`,
      replies: `${base}:replies`,
      older: `${base}:older`,
      timers: `${base}:timers`,
      timerBodies: `${base}:timer-bodies`,
      effects: `${base}:effects`,
      effectBodies: `${base}:effect-bodies`,
      outbox: `${base}:outbox`,
      postponed: `${base}:postponed`,
      eventTails: `${base}:event-tails`,
      directory: `${base}:directory`,
      directoryAsked: `${base}:directory-asked`,
      parts: `${base}:parts`,
    };
    this.#logs.set(log, keys);
    return keys;
  }

  /** Stream of one actor's events, ids `<seq>-0`. */
  events(partition: Partition, address: Address): string {
    return `${this.#baseOf(partition)}:events:${address}`;
  }

  /**
   * The channels to subscribe to for messages that functions publish. Where partitions share slots there is one channel
   * in each slot (sharded pub/sub), because a plain channel would be carried to all servers of the Cluster.
   */
  #subscribed(channel: string): readonly string[] {
    if (!this.#hasTags) return [`${this.#prefix}:${channel}`];
    return Array.from({ length: SLOT_TAGS }, (_, n) => `{${this.#prefix}:t${n}}:${channel}`);
  }

  /** Channels of wake-ups: a log held by `node` got an entry. */
  wakeUp(node: string): readonly string[] {
    return this.#subscribed(`bell:${node}`);
  }

  /** Channel of signals to one node. */
  signal(node: string): string {
    return `${this.#prefix}:signal:${node}`;
  }

  /**
   * Counter of a rate limit. All counters of a tenant share a hash tag; the encoding keeps a tenant's name from closing
   * the tag.
   */
  rate(tenant: string, windowMs: number, key: string): string {
    return `{${this.#prefix}:rates:${encodeURIComponent(tenant)}}:${windowMs}:${key}`;
  }

  replies(session: string): readonly string[] {
    return this.#subscribed(`reply:${session}`);
  }

  /** Channels of an actor's events, one in every slot: the subscriber does not know the actor's partition. */
  eventChannels(address: Address): readonly string[] {
    return this.#subscribed(`events:${address}`);
  }

  /** Channels of effect ids that a commit cancelled. */
  cancels(): readonly string[] {
    return this.#subscribed('cancel');
  }

  /** Like `alive`, one channel in each slot that has subscriptions. */
  aliveInSlots(): readonly string[] {
    return this.#hasTags ? this.#subscribed('alive') : [];
  }
}

/** Field of meta in which programs of format 2 count an actor's waiting client messages. */
export const depthField = (address: Address): string => `@${address}`;

/** Field of meta with the last outbox number received from a source. */
export const heardField = (source: Partition): string => `<${source}`;

/** Field of meta for a seen message id, with its reply. */
export const seenField = (messageId: string): string => `#${messageId}`;

/** Epoch and grant of a lease, which a call by the holder must show. */
export const fenceOf = (lease: Lease): string => `${lease.epoch} ${lease.grant}`;

/** Node and log that an append wakes (functions/_append_parts.lua). */
export const wakeUpOf = (lease: Lease): string => `${lease.node}\n${lease.log}`;

/** Fact of a store whose partitions share slots. */
const FACT = 'slot_tags';

/**
 * Mark behind a pool's count in such a store. The fact alone is not enough: it is on another master, which may lose it
 * in a failover.
 */
const POOL_MARK = ` format=${TAGS_FORMAT}`;

/** A pool's count as stored where partitions share slots. */
export const taggedCount = (partitions: number): string => `${partitions}${POOL_MARK}`;

/**
 * Whether the partitions of a store on Redis Cluster share `SLOT_TAGS` hash tags, instead of having one each. An empty
 * store gets them now; a store with data of an earlier version keeps its keys. Every node reads this before it builds
 * any key. The format noted in the same write refuses programs that do not know the tags.
 */
export async function hasSlotTags(connection: Cluster, keys: Keys): Promise<boolean> {
  const [fact, pools] = await Promise.all([connection.hget(keys.facts, FACT), connection.hvals(keys.pools)]);
  if (fact !== null) return true;
  if (pools.some((count) => !count.endsWith(POOL_MARK))) return false;
  await connection.hset(keys.facts, FACT, SLOT_TAGS, formatFact(TAGS_FORMAT), formatNoteText(TAGS_FORMAT));
  return true;
}

/**
 * Which log takes a partition's messages, as far as this process knows. Errors are harmless: a log that a partition no
 * longer shares refuses the messages, and says which log takes them or that it does not know.
 */
export class Routes {
  readonly #shared = new Map<Partition, { readonly log: SharedLog; readonly life: string }>();

  of(partition: Partition): Log {
    return this.#shared.get(partition)?.log ?? partition;
  }

  /** Life of the server that named the log of the partition; '' while none did. */
  lifeOf(partition: Partition): string {
    return this.#shared.get(partition)?.life ?? '';
  }

  /** Notes that the partition shares that log, as the server said in this life. A later life may have lost that. */
  learn(partition: Partition, log: SharedLog, life: string): void {
    this.#shared.set(partition, { log, life });
  }

  /** Removes a closed log: its partitions know where their messages go. */
  forget(partition: Partition): void {
    this.#shared.delete(partition);
  }
}
