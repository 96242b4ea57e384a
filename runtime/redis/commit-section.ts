import type { Commit, CommitOutcome } from '../actor-store.ts';
import { readEntries } from './entries.ts';
import { bellOf, depthField, fenceOf, type Keys, seenField } from './keys.ts';
import { packReplies } from './replies.ts';
import { integer, list } from './reply.ts';

type Words = (string | number)[];

/** Writes one commit as the section that functions/commit.lua reads. The two files go together. */
export function writeCommit(
  commit: Commit,
  call: {
    readonly id: string;
    readonly serverLife: string;
    readonly readAhead: number;
    /** No program of format 2 is in the fleet. */
    readonly packs: boolean;
  },
  names: Keys,
  keys: string[],
  args: Words,
): void {
  const { lease } = commit;
  const own = names.of(lease.partition);
  const before = keys.length;
  keys.push(own.meta, own.mail, own.states, own.journal, own.depths, own.replies, own.held);
  if (commit.timersSet.length > 0 || commit.timersCleared.length > 0) keys.push(own.timers, own.timerBodies);
  const { effectsOpened, effectsCancelled, settles = [] } = commit;
  if (effectsOpened.length + effectsCancelled.length + settles.length > 0) keys.push(own.effects, own.effectBodies);
  if (commit.sends.some((send) => send.partition !== lease.partition)) keys.push(own.outbox);
  const events = commit.events.filter((append) => append.data.length > 0);
  if (events.length > 0) {
    keys.push(own.eventTails);
    for (const append of events) keys.push(names.events(lease.partition, append.address));
  }
  args.push(keys.length - before, fenceOf(lease), commit.after, commit.upTo, call.id, call.readAhead, bellOf(lease));
  args.push(call.serverLife, commit.upToAt ?? '', commit.beside ?? '');
  args.push(commit.results ?? settles.length);
  writeRecords(commit, args);
  if (commit.journal !== null) args.push('j', 1, commit.journal);
  if (call.packs) writeReplies(commit, args);
  else writeRepliesOneByOne(commit, args);
  writeHeld(commit, args);
  if (commit.sends.length > 0) writeSends(commit, args);
  if (events.length > 0) writeEvents(events, args);
  writeTimersAndEffects(commit, args);
  args.push('.');
}

function writeRecords({ records }: Commit, args: Words): void {
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
  let named = 0;
  for (const reply of replies) {
    const known = sessions.get(reply.session);
    if (known === undefined) sessions.set(reply.session, [reply]);
    else known.push(reply);
    if (reply.fresh !== true) named += 1;
  }
  args.push('P', 2 * sessions.size);
  for (const [session, own] of sessions) args.push(session, packReplies(own));
  if (named === 0) return;
  args.push('k', 2 * named);
  for (const { messageId, body, fresh } of replies) if (fresh !== true) args.push(seenField(messageId), body);
}

function writeHeld({ held = [] }: Commit, args: Words): void {
  if (held.length === 0) return;
  args.push('H', 2 * held.length);
  for (const { address, count } of held) args.push(address, count);
}

/** As programs of format 2 read them. */
function writeRepliesOneByOne({ replies, handled }: Commit, args: Words): void {
  if (replies.length > 0) {
    args.push('p', 3 * replies.length);
    for (const { session, messageId, body } of replies) args.push(session, seenField(messageId), body);
  }
  if (handled.length === 0) return;
  args.push('h', 2 * handled.length);
  for (const { address, count } of handled) args.push(depthField(address), count);
}

function writeSends({ sends, lease }: Commit, args: Words): void {
  const own = sends.filter((send) => send.partition === lease.partition);
  if (own.length > 0) {
    args.push('s', own.length);
    for (const { delivery } of own) args.push(delivery.body);
  }
  if (own.length === sends.length) return;
  args.push('o', 2 * (sends.length - own.length));
  for (const { partition, delivery } of sends) if (partition !== lease.partition) args.push(partition, delivery.body);
}

function writeEvents(events: Commit['events'], args: Words): void {
  let words = 0;
  for (const { data } of events) words += 3 + data.length;
  args.push('e', words);
  for (const { address, first, data } of events) {
    args.push(address, first, data.length);
    for (const one of data) args.push(one);
  }
}

function writeTimersAndEffects(commit: Commit, args: Words): void {
  const { timersSet, timersCleared, effectsOpened, effectsCancelled, settles = [] } = commit;
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

/** `upTo` of the commit: what is answered may begin before it. */
export function readCommitOutcome(reply: unknown, upTo: number): CommitOutcome {
  if (reply === 0) return { kind: 'fenced' };
  if (reply === 2) return { kind: 'unsettled' };
  const answer = list(reply);
  return {
    kind: 'committed',
    at: integer(answer[0]),
    beside: integer(answer[2]),
    next: readEntries(answer, 3, upTo),
    owes: integer(answer[1]) > 0,
  };
}
