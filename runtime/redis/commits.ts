import {
  type Commit,
  type CommitOutcome,
  type Commits,
  changesOf,
  type Lease,
  type PartitionChanges,
} from '../actor-store.ts';
import {
  type Address,
  addressOf,
  isPartition,
  isSharedLog,
  type Log,
  type Partition,
  parseAddress,
} from '../address.ts';
import { SvcError } from '../errors.ts';
import type { MailboxEntry } from '../message.ts';
import { type Connection, redisFailure } from './connection.ts';
import type { CallOrder, FcallBatcher } from './fcall-batcher.ts';
import { depthField, fenceOf, type Keys, seenField, wakeUpOf } from './keys.ts';
import type { Outbox } from './outbox.ts';
import { integer, integerOrNull, list, packReplies, readEntries, text } from './replies.ts';
import type { ServerLives, WakeUps } from './wake-ups.ts';

/** A Lua function must not put more than some thousand values on its stack at once. */
const MOST_READ_AHEAD = 1_000;

const MOST_HANDLED = 3_000;

export class RedisCommits implements Commits {
  readonly #connection: Connection;
  readonly #calls: FcallBatcher;
  readonly #wakeUps: WakeUps;
  readonly #keys: Keys;
  readonly #outbox: Outbox;
  readonly #lives: ServerLives;
  readonly #packs: () => boolean;
  readonly #shares: (log: Log, partition: Partition) => boolean;
  /** The id under which each commit is written. The same object again is the same commit. */
  readonly #ids = new WeakMap<Commit, string>();
  readonly #order: CallOrder;

  constructor(
    connection: Connection,
    calls: FcallBatcher,
    wakeUps: WakeUps,
    keys: Keys,
    outbox: Outbox,
    lives: ServerLives,
    order: CallOrder,
    packs: () => boolean,
    shares: (log: Log, partition: Partition) => boolean,
  ) {
    this.#connection = connection;
    this.#calls = calls;
    this.#wakeUps = wakeUps;
    this.#keys = keys;
    this.#outbox = outbox;
    this.#lives = lives;
    this.#order = order;
    this.#packs = packs;
    this.#shares = shares;
  }

  async poll(
    asks: readonly { readonly lease: Lease; readonly after: number }[],
    limit: number,
  ): Promise<(MailboxEntry[] | null)[]> {
    return Promise.all(
      asks.map(({ lease, after }) => this.#wakeUps.take(lease, after, limit) ?? this.#poll(lease, after, limit)),
    );
  }

  async #poll(lease: Lease, after: number, limit: number): Promise<MailboxEntry[] | null> {
    const { meta, mail } = this.#keys.of(lease.log);
    const reply = await this.#calls.call('poll', lease.log, (keys, args) => {
      keys.push(meta, mail);
      args.push(after, limit, fenceOf(lease), wakeUpOf(lease), this.#lives.at(lease));
    });
    return reply === 0 ? null : readEntries(list(reply), 0, after);
  }

  async load(partition: Partition, addresses: readonly Address[]): Promise<(string | null)[]> {
    if (addresses.length === 0) return [];
    try {
      return await this.#connection.hmget(this.#keys.of(partition).states, ...addresses);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async recorded(partition: Partition): Promise<Address[]> {
    try {
      const addresses = await this.#connection.hkeys(this.#keys.of(partition).states);
      return addresses.map((address) => {
        const { kind, tenant, id } = parseAddress(address);
        return addressOf(kind, tenant, id);
      });
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async actorCount(partition: Partition): Promise<number> {
    try {
      return await this.#connection.hlen(this.#keys.of(partition).states);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async commit(commit: Commit, readAhead: number): Promise<CommitOutcome> {
    if (commit.handled.length > MOST_HANDLED) {
      throw new SvcError('invalid_argument', `handled must name at most ${MOST_HANDLED} actors`, { field: 'handled' });
    }
    const call = {
      id: this.#idOf(commit),
      serverLife: this.#lives.at(commit.lease),
      readAhead: Math.min(readAhead, MOST_READ_AHEAD),
      packs: this.#packs(),
      shares: (partition: Partition) => this.#shares(commit.lease.log, partition),
    };
    const reply = await this.#calls.call('commit', commit.lease.log, (keys, args) =>
      writeCommit(commit, call, this.#keys, keys, args),
    );
    return readCommitOutcome(reply, commit.upTo);
  }

  #idOf(commit: Commit): string {
    let id = this.#ids.get(commit);
    if (id === undefined) {
      id = `${this.#order.caller}${this.#order.next()}`;
      this.#ids.set(commit, id);
    }
    return id;
  }

  async fireTimers(leases: readonly Lease<Partition>[]): Promise<(number | null)[]> {
    const replies = await Promise.all(
      leases.map((lease) =>
        this.#calls.call('fire_timers', lease.log, (keys, args) => {
          const { meta, mail, timers, timerBodies } = this.#keys.of(lease.log);
          keys.push(meta, mail, timers, timerBodies);
          args.push(fenceOf(lease));
        }),
      ),
    );
    return replies.map(integerOrNull);
  }

  async timersDue(partition: Partition, ids: readonly string[]): Promise<(number | null)[]> {
    if (ids.length === 0) return [];
    try {
      const due = await this.#connection.zmscore(this.#keys.of(partition).timers, [...ids]);
      return due.map((score) => (score === null ? null : Number(score)));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  flushOutbox(lease: Lease<Partition>): Promise<boolean> {
    return this.#outbox.flush(lease.log, this.#lives.at(lease));
  }

  async forget(
    lease: Lease,
    after: number,
    addresses: readonly Address[],
    partition = isSharedLog(lease.log) ? undefined : lease.log,
  ): Promise<boolean> {
    if (partition === undefined) throw new SvcError('internal', 'a shared log does not say where its actors live');
    const { meta, states, eventTails } = this.#keys.of(partition);
    const reply = await this.#calls.call('forget', lease.log, (keys, args) => {
      keys.push(this.#keys.of(lease.log).meta, meta, states, eventTails);
      args.push(fenceOf(lease), after, addresses.length);
      for (const address of addresses) {
        keys.push(this.#keys.events(partition, address));
        args.push(address);
      }
    });
    return reply === 1;
  }
}

type Words = (string | number)[];

type Changes = PartitionChanges & { readonly partition: Partition };

interface Call {
  readonly id: string;
  readonly serverLife: string;
  readonly readAhead: number;
  /** Whether entries may be packed: no program of format 2 is in the fleet. */
  readonly packs: boolean;
  /** Whether a partition shares the log of the commit. */
  readonly shares: (partition: Partition) => boolean;
}

/** Writes one commit as the section that functions/commit.lua reads. Change the two files together. */
function writeCommit(commit: Commit, call: Call, names: Keys, keys: string[], args: Words): void {
  const { lease } = commit;
  const log = names.of(lease.log);
  const changes = changesOf(commit);
  const named = new Set(call.packs ? namedIn(commit) : []);
  const isPlain = (part: Changes): boolean =>
    isSharedLog(lease.log) && hasRecordsAlone(part) && !named.has(part.partition);
  const plain = changes.filter(isPlain);
  const parts = plain.length === 0 ? changes : changes.filter((part) => !isPlain(part));
  const before = keys.length;
  keys.push(log.meta, log.mail, log.journal, log.depths, log.replies);
  for (const part of parts) writeKeys(part, names, keys);
  for (const { partition } of plain) keys.push(names.of(partition).states);
  const settled = changes.reduce((sum, { settles = [] }) => sum + settles.length, 0);
  args.push(keys.length - before, fenceOf(lease), commit.after, commit.upTo, call.id, call.readAhead, wakeUpOf(lease));
  args.push(call.serverLife, commit.upToAt ?? '', commit.beside ?? '', commit.results ?? settled);
  if (commit.journal !== null) args.push('j', 1, commit.journal);
  if (call.packs) writeReplies(commit, args);
  else writeRepliesOneByOne(commit, args);
  if (plain.length > 0) writeRecordsAlone(plain, args);
  for (const part of parts) {
    args.push('@', 1, part.partition);
    writeRecords(part, args);
    if (call.packs) writeNamedReplies(commit, part.partition, args);
    writeHeld(commit, part.partition, args);
    if (part.sends.length > 0) writeSends(part, call, args);
    const events = eventsOf(part);
    if (events.length > 0) writeEvents(events, args);
    writeTimersAndEffects(part, args);
    writePostponed(part, args);
  }
  args.push('.');
}

const waits = ({ postponed = [], resumed = [] }: PartitionChanges): boolean => postponed.length + resumed.length > 0;

const eventsOf = ({ events }: PartitionChanges) => events.filter((append) => append.data.length > 0);

function writeKeys(part: Changes, names: Keys, keys: string[]): void {
  const own = names.of(part.partition);
  keys.push(own.meta, own.states, own.held);
  if (part.timersSet.length > 0 || part.timersCleared.length > 0) keys.push(own.timers, own.timerBodies);
  const { effectsOpened, effectsCancelled, settles = [] } = part;
  if (effectsOpened.length + effectsCancelled.length + settles.length > 0) keys.push(own.effects, own.effectBodies);
  if (part.sends.length > 0) keys.push(own.outbox);
  if (waits(part)) keys.push(own.postponed);
  const events = eventsOf(part);
  if (events.length === 0) return;
  keys.push(own.eventTails);
  for (const append of events) keys.push(names.events(part.partition, append.address));
}

/** Partitions in which the commit makes changes beyond `PartitionChanges`. */
function* namedIn({ replies, held = [], lease: { log } }: Commit): Generator<Log> {
  for (const reply of replies) if (reply.fresh !== true) yield reply.partition ?? log;
  for (const one of held) yield one.partition ?? log;
}

/** Whether the commit only writes records in a partition, which is the usual case. */
function hasRecordsAlone(part: Changes): boolean {
  const { records, events, sends, timersSet, timersCleared, effectsOpened, effectsCancelled, settles = [] } = part;
  const others = events.length + sends.length + timersSet.length + timersCleared.length + effectsOpened.length;
  if (others + effectsCancelled.length + settles.length > 0 || waits(part)) return false;
  return records.every(({ record }) => record !== null);
}

function writeRecordsAlone(plain: readonly Changes[], args: Words): void {
  let words = plain.length;
  for (const { records } of plain) words += 2 * records.length;
  args.push('R', words);
  for (const { records } of plain) {
    args.push(2 * records.length);
    for (const { address, record } of records) if (record !== null) args.push(address, record);
  }
}

function writeRecords({ records }: PartitionChanges, args: Words): void {
  let deleted = 0;
  for (const { record } of records) if (record === null) deleted += 1;
  if (records.length > deleted) {
    args.push('r', 2 * (records.length - deleted));
    for (const { address, record } of records) if (record !== null) args.push(address, record);
  }
  if (deleted === 0) return;
  args.push('d', deleted);
  for (const { address, record } of records) if (record === null) args.push(address);
}

function writeReplies({ replies }: Commit, args: Words): void {
  if (replies.length === 0) return;
  const sessions = new Map<string, Commit['replies'][number][]>();
  for (const reply of replies) {
    const known = sessions.get(reply.session);
    if (known === undefined) sessions.set(reply.session, [reply]);
    else known.push(reply);
  }
  args.push('P', 2 * sessions.size);
  for (const [session, own] of sessions) args.push(session, packReplies(own));
}

/** Writes the replies to message ids that callers chose. They are stored with the ids. */
function writeNamedReplies({ replies, lease }: Commit, partition: Partition, args: Words): void {
  const named = replies.filter((reply) => reply.fresh !== true && (reply.partition ?? lease.log) === partition);
  if (named.length === 0) return;
  args.push('k', 2 * named.length);
  for (const { messageId, body } of named) args.push(seenField(messageId), body);
}

function writeHeld({ held = [], lease }: Commit, partition: Partition, args: Words): void {
  const own = held.filter((one) => (one.partition ?? lease.log) === partition);
  if (own.length === 0) return;
  args.push('H', 2 * own.length);
  for (const { address, count } of own) args.push(address, count);
}

/** Writes replies in the form that programs of format 2 read. */
function writeRepliesOneByOne({ replies, handled }: Commit, args: Words): void {
  if (replies.length > 0) {
    args.push('p', 3 * replies.length);
    for (const { session, messageId, body } of replies) args.push(session, seenField(messageId), body);
  }
  if (handled.length === 0) return;
  args.push('h', 2 * handled.length);
  for (const { address, count } of handled) args.push(depthField(address), count);
}

function writeSends({ sends, partition: from }: Changes, { shares }: Call, args: Words): void {
  const within = sends.filter(({ partition }) => partition === from || shares(partition));
  if (within.length > 0) {
    args.push('s', 2 * within.length);
    for (const { partition, delivery } of within) args.push(partition, delivery.body);
  }
  if (within.length === sends.length) return;
  const owed = sends.filter(({ partition }) => partition !== from && !shares(partition));
  args.push('o', 2 * owed.length);
  for (const { partition, delivery } of owed) args.push(partition, delivery.body);
}

function writeEvents(events: PartitionChanges['events'], args: Words): void {
  let words = 0;
  for (const { data } of events) words += 3 + data.length;
  args.push('e', words);
  for (const { address, first, data } of events) {
    args.push(address, first, data.length);
    for (const one of data) args.push(one);
  }
}

function writeTimersAndEffects(part: PartitionChanges, args: Words): void {
  const { timersSet, timersCleared, effectsOpened, effectsCancelled, settles = [] } = part;
  if (timersSet.length > 0) {
    args.push('t', 3 * timersSet.length);
    for (const { id, afterMs, delivery } of timersSet) args.push(id, Math.ceil(afterMs), delivery.body);
  }
  if (timersCleared.length > 0) args.push('c', timersCleared.length, ...timersCleared);
  if (effectsOpened.length > 0) {
    args.push('f', 5 * effectsOpened.length);
    for (const { id, queue, address, mode, fairnessKey, body, started } of effectsOpened) {
      const key = fairnessKey === undefined ? '' : `\n\n${fairnessKey}`;
      args.push(id, started?.runner ?? '', started?.ttlMs ?? 0, `${mode}\n${queue}\n${address}${key}`, body);
    }
  }
  if (effectsCancelled.length > 0) args.push('x', effectsCancelled.length, ...effectsCancelled);
  if (settles.length === 0) return;
  args.push('q', 2 * settles.length);
  for (const { id, attempt } of settles) args.push(id, attempt);
}

function writePostponed({ postponed = [], resumed = [] }: PartitionChanges, args: Words): void {
  if (resumed.length > 0) args.push('u', resumed.length, ...resumed);
  if (postponed.length === 0) return;
  args.push('w', 3 * postponed.length);
  for (const { seq, at, body } of postponed) args.push(seq, at, body);
}

/** Reads the outcome of a commit. `upTo` is the commit's; the entries in the reply may begin before it. */
function readCommitOutcome(reply: unknown, upTo: number): CommitOutcome {
  if (reply === 0) return { kind: 'fenced' };
  if (reply === 2) return { kind: 'unsettled' };
  const answer = list(reply);
  return {
    kind: 'committed',
    at: integer(answer[0]),
    beside: integer(answer[2]),
    next: readEntries(answer, 3, upTo),
    owing: text(answer[1]).split(',').filter(isPartition),
  };
}
