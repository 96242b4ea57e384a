import { Cluster } from 'ioredis';
import type { ActorStore, Commit, Lease } from '../actor-store.ts';
import type { Address, Log, Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import type { SharedLogs, Unsubscribe } from '../leases.ts';
import type { Member } from '../members.ts';
import type { Delivery } from '../message.ts';
import { RedisCommits } from './commits.ts';
import { type Connection, connect, masters, redisFailure } from './connection.ts';
import { RedisEffectLedger } from './effect-ledger.ts';
import { countOf, durabilityWarnings, RedisFacts } from './facts.ts';
import { CallOrder, FcallBatcher } from './fcall-batcher.ts';
import { RedisDirectory, RedisHistory } from './history.ts';
import { hasSlotTags, Keys, taggedCount } from './keys.ts';
import { LeaseThread } from './lease-thread.ts';
import { RedisLeases } from './leases.ts';
import { loadLibrary, readLibrary } from './library.ts';
import { RedisMailboxes } from './mailboxes.ts';
import { RedisMembers } from './members.ts';
import { Outbox } from './outbox.ts';
import { PubSub } from './pubsub.ts';
import { integer } from './replies.ts';
import { RedisSharedLogs } from './shared-logs.ts';
import { ServerLives, ServerTimes, WakeUps } from './wake-ups.ts';

interface RedisActorStoreOptions {
  /**
   * One URL, or several of Cluster nodes: redis://, rediss://, redis+cluster://h1:p,h2:p,
   * redis+sentinel://h1,h2/master.
   */
  readonly urls: string | readonly string[];
  /** Prefix of every key and channel. Installations that share a Redis need different ones. Default `svc`. */
  readonly prefix?: string;
  /** Called for connection trouble that no caller sees. The text never holds credentials. */
  readonly warn?: (warning: string) => void;
  /** Whether entries of format 3 may be written: no program of an older format is in the fleet. Default: yes. */
  readonly packs?: () => boolean;
  /** The same of format 6: whether events of one commit may share an entry. Default: yes. */
  readonly eventPacks?: () => boolean;
  /** Number of replicas that must have a write before it is acknowledged. Single Redis and Sentinel only. */
  readonly waitReplicas?: number;
  /** Whether a thread renews the leases while the event loop is blocked. Default false. */
  readonly leaseThread?: boolean;
}

/**
 * The store on Redis 7: single, Sentinel or Cluster (K2, K3). Calls fail with `unavailable` when Redis cannot be
 * reached or does not answer within 5 s; the connection recovers by itself. Create one of these in each process.
 */
export class RedisActorStore implements ActorStore {
  readonly #connection: Connection;
  readonly #subscriptions: Connection;
  readonly #keys: Keys;
  readonly #pubsub: PubSub;
  readonly #mailboxes: RedisMailboxes;
  readonly #leases: RedisLeases;
  readonly #members: RedisMembers;
  readonly #commits: RedisCommits;
  readonly #effects: RedisEffectLedger;
  readonly #history: RedisHistory;
  readonly #directory: RedisDirectory;
  readonly #facts: RedisFacts;
  sharedLogs?: SharedLogs;
  readonly #logs: SharedLogs;
  readonly #library = readLibrary();
  readonly #thread: LeaseThread | null;

  constructor(options: RedisActorStoreOptions) {
    const warn = options.warn ?? (() => {});
    this.#keys = new Keys(options.prefix ?? 'svc');
    this.#connection = connect(options.urls, 'svc', 'commands');
    this.#subscriptions = connect(options.urls, 'svc-bulletins', 'subscriptions');
    for (const connection of [this.#connection, this.#subscriptions]) {
      connection.on('error', (error: Error) => warn(`Redis connection: ${error.message}`));
    }
    const pubsub = new PubSub(this.#subscriptions, this.#keys, this.#connection, warn);
    this.#pubsub = pubsub;
    const { waitReplicas = 0, packs = () => true, eventPacks = () => true } = options;
    if (waitReplicas > 0 && this.#connection instanceof Cluster) {
      throw new SvcError('invalid_config', 'wait_replicas is not for Redis Cluster: set min-replicas-to-write there');
    }
    const { settled } = pubsub;
    const calls = new FcallBatcher(this.#connection, this.#library, this.#keys, settled, waitReplicas);
    const wakeUps = new WakeUps(pubsub, this.#keys);
    this.#connection.on('close', () => wakeUps.forget());
    this.#subscriptions.on('close', () => wakeUps.forget());
    const redis = { connection: this.#connection, calls, keys: this.#keys, order: new CallOrder() };
    const outbox = new Outbox(redis);
    const hasTags = (): boolean => this.#keys.hasTags;
    const { leaseThread = false, urls, prefix = 'svc' } = options;
    this.#thread = leaseThread ? new LeaseThread({ urls, prefix, hasTags, warn }) : null;
    const lives = new ServerLives(this.#thread);
    this.#leases = new RedisLeases(redis, wakeUps, lives, this.#thread);
    const times = new ServerTimes((log) => this.#leases.now(log), !(this.#connection instanceof Cluster));
    this.#mailboxes = new RedisMailboxes(redis, pubsub, times, packs);
    this.#members = new RedisMembers(redis, pubsub, this.#thread);
    const logs = new RedisSharedLogs(redis, lives, packs);
    this.#logs = logs;
    if (!(this.#connection instanceof Cluster)) this.sharedLogs = logs;
    const shares = (log: Log, partition: Partition) => logs.shares(log, partition);
    this.#commits = new RedisCommits(redis, { wakeUps, outbox, lives, packs, eventPacks, shares });
    this.#effects = new RedisEffectLedger(redis, pubsub, times);
    this.#history = new RedisHistory(redis, pubsub);
    this.#directory = new RedisDirectory(redis);
    this.#facts = new RedisFacts(redis);
  }

  async open(): Promise<void> {
    try {
      await Promise.all([this.#connection.connect(), this.#subscriptions.connect()]);
      await loadLibrary(masters(this.#connection), this.#library);
      if (this.#connection instanceof Cluster && (await hasSlotTags(this.#connection, this.#keys))) {
        this.#keys.useTags();
        this.sharedLogs = this.#logs;
      }
    } catch (error) {
      await this.close();
      throw redisFailure(error);
    }
  }

  async close(): Promise<void> {
    this.#pubsub.close();
    await this.#thread?.close();
    this.#connection.disconnect();
    this.#subscriptions.disconnect();
  }

  /** Returns one sentence for each durability risk, for the start-up log (K10). Empty when there is none. */
  async durability(): Promise<string[]> {
    return durabilityWarnings(masters(this.#connection));
  }

  async now(log?: Log): Promise<number> {
    if (log !== undefined) return this.#leases.now(log);
    try {
      const [server] = masters(this.#connection);
      if (server === undefined)
        throw new SvcError('unavailable', 'Redis Cluster has no known master.', { store: 'actors' });
      const [seconds, micros] = await server.time();
      return integer(seconds) * 1000 + Math.floor(integer(micros) / 1000);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async definePool(pool: string, partitions: number): Promise<number> {
    try {
      await this.#connection.hsetnx(this.#keys.pools, pool, this.#keys.hasTags ? taggedCount(partitions) : partitions);
      return countOf(await this.#connection.hget(this.#keys.pools, pool));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  facts = () => this.#facts.facts();
  keepFact = (name: string, value: string) => this.#facts.keepFact(name, value);
  refuseOlderPrograms = () => this.#facts.refuseOlderPrograms();

  append = (partition: Partition, deliveries: readonly Delivery[], bound: number, ageMs?: number) =>
    this.#mailboxes.append(partition, deliveries, bound, ageMs);
  recallReply: ActorStore['recallReply'] = (...recall) => this.#mailboxes.recallReply(...recall);
  depth = (partition: Partition, address: Address) => this.#mailboxes.depth(partition, address);
  backlog = (log: Log) => this.#mailboxes.backlog(log);
  unread: ActorStore['unread'] = (...call) => this.#mailboxes.unread(...call);
  onReply: ActorStore['onReply'] = (...listener) => this.#mailboxes.onReply(...listener);

  acquire = (partition: Partition, node: string, grant: string, ttlMs: number, over?: string) =>
    this.#leases.acquire(partition, node, grant, ttlMs, over);
  renew = (leases: readonly Lease[], ttlMs: number) => this.#leases.renew(leases, ttlMs);
  renewedAt = (lease: Lease) => this.#leases.renewedAt(lease);
  cameBackAt = (lease: Lease<Partition>) => this.#leases.cameBackAt(lease);
  freeze = (ms: number): void => this.#leases.freeze(ms);
  release = (lease: Lease<Partition>) => this.#leases.release(lease);
  vouch = (lease: Lease) => this.#leases.vouch(lease);
  onWake = (node: string, wake: (log: Log) => void): Unsubscribe => this.#leases.onWake(node, wake);
  onReturn = (back: () => void): Unsubscribe => {
    this.#connection.on('ready', back);
    return () => void this.#connection.off('ready', back);
  };

  announce = (member: Member, ttlMs: number, first: boolean) => this.#members.announce(member, ttlMs, first);
  members = () => this.#members.members();
  readMembers = (node: string, known: string) => this.#members.readMembers(node, known);
  retire = (node: string, incarnation: string) => this.#members.retire(node, incarnation);
  isKnown = (node: string, incarnation: string) => this.#members.isKnown(node, incarnation);
  pools = () => this.#members.pools();
  signal = (node: string | null, content: string) => this.#members.signal(node, content);
  onSignal = (node: string, receive: (content: string) => void): Unsubscribe => this.#members.onSignal(node, receive);

  poll = (asks: readonly { readonly lease: Lease; readonly after: number }[], limit: number) =>
    this.#commits.poll(asks, limit);
  load = (partition: Partition, addresses: readonly Address[]) => this.#commits.load(partition, addresses);
  recorded = (partition: Partition) => this.#commits.recorded(partition);
  actorCount = (partition: Partition) => this.#commits.actorCount(partition);
  commit = (commit: Commit, readAhead: number) => this.#commits.commit(commit, readAhead);
  fireTimers = (leases: readonly Lease<Partition>[]) => this.#commits.fireTimers(leases);
  timersDue = (partition: Partition, ids: readonly string[]) => this.#commits.timersDue(partition, ids);
  flushOutbox = (lease: Lease<Partition>) => this.#commits.flushOutbox(lease);
  forget = (lease: Lease, after: number, addresses: readonly Address[], partition?: Partition) =>
    this.#commits.forget(lease, after, addresses, partition);

  openEffects = (partition: Partition) => this.#effects.openEffects(partition);
  effectRows = (partition: Partition, ids: readonly string[]) => this.#effects.effectRows(partition, ids);
  effectBodies = (partition: Partition, ids: readonly string[]) => this.#effects.effectBodies(partition, ids);
  claimEffect: ActorStore['claimEffect'] = (...claim) => this.#effects.claimEffect(...claim);
  keepEffect = (partition: Partition, id: string, attempt: number, ttlMs: number) =>
    this.#effects.keepEffect(partition, id, attempt, ttlMs);
  progressEffect = (partition: Partition, id: string, attempt: number, delivery: Delivery) =>
    this.#effects.progressEffect(partition, id, attempt, delivery);
  settleEffect = (partition: Partition, id: string, attempt: number, delivery: Delivery) =>
    this.#effects.settleEffect(partition, id, attempt, delivery);
  reopenEffect: ActorStore['reopenEffect'] = (...call) => this.#effects.reopenEffect(...call);
  onEffectCancelled = (stop: (id: string) => void): Unsubscribe => this.#effects.onEffectCancelled(stop);

  readEvents = (partition: Partition, address: Address, after: number, limit: number) =>
    this.#history.readEvents(partition, address, after, limit);
  onEvents: ActorStore['onEvents'] = (address, wake) => this.#history.onEvents(address, wake);
  readJournal = (log: Log, after: number, limit: number) => this.#history.readJournal(log, after, limit);
  trimJournal = (lease: Lease, upTo: number) => this.#history.trimJournal(lease, upTo);

  place = (home: Partition, address: Address, partition: Partition) => this.#directory.place(home, address, partition);
  locate = (home: Partition, address: Address) => this.#directory.locate(home, address);
  unplace = (home: Partition, address: Address, partition: Partition) =>
    this.#directory.unplace(home, address, partition);
  placed = (home: Partition, page: string | null) => this.#directory.placed(home, page);
}
