import type { Commit, CommitOutcome } from '../actor-store.ts';
import { bellOf, depthField, fenceOf, type Keys, seenField } from './keys.ts';
import { readEntries } from './mailboxes.ts';
import { integer, list } from './reply.ts';

type Words = (string | number)[];

/** Writes one commit as the section that functions/commit.lua reads. The two files go together. */
export function writeCommit(
  commit: Commit,
  call: { readonly id: string; readonly serverLife: string; readonly readAhead: number },
  names: Keys,
  keys: string[],
  args: Words,
): void {
  const { lease } = commit;
  const own = names.of(lease.partition);
  const before = keys.length;
  keys.push(own.meta, own.mail, own.states, own.journal);
  if (commit.timersSet.length > 0 || commit.timersCleared.length > 0) keys.push(own.timers, own.timerBodies);
  const { effectsOpened, effectsCancelled, settles = [] } = commit;
  if (effectsOpened.length + effectsCancelled.length + settles.length > 0) keys.push(own.effects, own.effectBodies);
  if (settles.length > 0) keys.push(own.older);
  if (commit.sends.some((send) => send.partition !== lease.partition)) keys.push(own.outbox);
  const events = commit.events.filter((append) => append.data.length > 0);
  if (events.length > 0) {
    keys.push(own.eventTails);
    for (const append of events) keys.push(names.events(lease.partition, append.address));
  }
  args.push(keys.length - before, fenceOf(lease), commit.after, commit.upTo, call.id, call.readAhead, bellOf(lease));
  args.push(call.serverLife, commit.upToAt ?? '');
  writeRecords(commit, args);
  if (commit.journal !== null) args.push('j', 1, commit.journal);
  writeReplies(commit, args);
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

function writeReplies({ replies, handled }: Commit, args: Words): void {
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
    for (const { id, queue, address, mode, body, started } of effectsOpened) {
      args.push(id, started?.runner ?? '', started?.ttlMs ?? 0, `${mode}\n${queue}\n${address}`, body);
    }
  }
  if (effectsCancelled.length > 0) args.push('x', effectsCancelled.length, ...effectsCancelled);
  if (settles.length === 0) return;
  args.push('q', 4 * settles.length);
  for (const { id, attempt, delivery } of settles) args.push(id, attempt, seenField(delivery.id), delivery.body);
}

export function readCommitOutcome(reply: unknown): CommitOutcome {
  if (reply === 0) return { kind: 'fenced' };
  if (reply === 2) return { kind: 'unsettled' };
  const answer = list(reply);
  return {
    kind: 'committed',
    at: integer(answer[0]),
    next: readEntries(answer, 2),
    owes: integer(answer[1]) > 0,
  };
}
