import type { Commit, CommitOutcome } from '../actor-store.ts';
import { SvcError } from '../errors.ts';
import type { ActorTable } from './actor-store-actors.ts';
import type { EffectTable } from './actor-store-effects.ts';
import type { JournalTable } from './actor-store-journal.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import type { Notices } from './actor-store-notices.ts';
import type { PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import type { TimerTable } from './actor-store-timers.ts';

export interface Tables {
  readonly book: PartitionBook;
  readonly notices: Notices;
  readonly mailbox: MailboxTable;
  readonly actors: ActorTable;
  readonly timers: TimerTable;
  readonly effects: EffectTable;
  readonly journal: JournalTable;
}

/** The one commit (design K3): everything is checked before the first write. */
export function applyCommit(tables: Tables, commit: Commit, readAhead: number, now: number): CommitOutcome {
  const { book, mailbox, effects } = tables;
  const { settles = [] } = commit;
  const state = book.held(commit.lease);
  if (state === undefined || state.cursor !== commit.after) return { kind: 'fenced' };
  const tail = state.tail + settles.length;
  if (commit.upTo < commit.after || commit.upTo > tail) {
    throw new SvcError('invalid_argument', `upTo must be from ${commit.after} to ${tail}`, { field: 'upTo' });
  }
  const running = settles.every(({ id, attempt }) => effects.runs(state, id, attempt));
  if (settles.length > 0 && (state.tail !== commit.after || !running)) return { kind: 'unsettled' };
  // Its turn is here: nobody need be woken for it.
  for (const { id, attempt, delivery } of settles) effects.settle(state, id, attempt, delivery.body, now, true);
  if (commit.upTo > commit.after) {
    book.changeRow(state);
    state.cursor = commit.upTo;
  }
  write(tables, state, commit, now);
  return { kind: 'committed', at: now, next: mailbox.read(state, state.cursor, state.tail, readAhead), owes: false };
}

function write(tables: Tables, state: PartitionState, commit: Commit, now: number): void {
  const { book, notices, mailbox, actors, timers, effects, journal } = tables;
  for (const { address, record } of commit.records) actors.write(state, address, record);
  if (commit.journal !== null) journal.append(state, commit.after, commit.upTo, commit.journal);
  for (const append of commit.events) {
    actors.append(state, append);
    notices.event(append.address);
  }
  // Every partition is in this file, so a message to another one arrives in the same transaction.
  for (const { partition, delivery } of commit.sends)
    mailbox.deliver(book.get(partition), delivery.body, now, delivery.unhurried);
  for (const id of commit.timersCleared) timers.clear(state, id);
  for (const timer of commit.timersSet) timers.set(state, timer, now);
  for (const effect of commit.effectsOpened) effects.open(state, effect, now);
  for (const id of commit.effectsCancelled) effects.cancel(state, id);
  for (const reply of commit.replies) {
    mailbox.record(state, reply.messageId, reply.body, now);
    notices.reply(reply);
  }
  for (const { address, count } of commit.handled) if (count !== 0) book.recount(state, address, -count);
}
