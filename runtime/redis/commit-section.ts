import { type Commit, type CommitOutcome, changesOf, type PartitionChanges } from '../actor-store.ts';
import { isPartition, isSharedLog, type Log, type Partition } from '../address.ts';
import { depthField, fenceOf, type Keys, seenField, wakeUpOf } from './keys.ts';
import { integer, list, packReplies, readEntries, text } from './replies.ts';

type Words = (string | number)[];

type Changes = PartitionChanges & { readonly partition: Partition };

/** What a section has beside its commit. */
interface CommitCall {
  readonly id: string;
  readonly serverLife: string;
  readonly readAhead: number;
  /** Whether entries may be packed: no program of format 2 is in the fleet. */
  readonly packs: boolean;
  /** Whether events may be packed: no program of format 3 is in the fleet. */
  readonly eventPacks: boolean;
  /** Whether a partition shares the log of the commit. */
  readonly shares: (partition: Partition) => boolean;
}

/** Writes one commit as the section that functions/commit.lua reads. Change the two files together. */
export function writeCommit(commit: Commit, call: CommitCall, names: Keys, keys: string[], args: Words): void {
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
    if (events.length > 0) writeEvents(events, call, args);
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

function writeSends({ sends, partition: from }: Changes, { shares }: CommitCall, args: Words): void {
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

function writeEvents(events: PartitionChanges['events'], { eventPacks }: CommitCall, args: Words): void {
  let words = 0;
  for (const { data } of events) words += 3 + data.length;
  args.push(eventPacks ? 'E' : 'e', words);
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
export function readCommitOutcome(reply: unknown, upTo: number): CommitOutcome {
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
