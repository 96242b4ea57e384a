import type { Commit, CommitOutcome } from '../actor-store.ts';
import { SvcError } from '../errors.ts';
import { MOST_BESIDE, partsOf, positionOf } from '../leases.ts';
import type { ActorTable, JournalTable } from './actor-store-actors.ts';
import type { EffectTable } from './actor-store-effects.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import type { Notices } from './actor-store-notices.ts';
import type { PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import type { TimerTable } from './actor-store-timers.ts';
import type { GroupMember } from './group-commit.ts';

export interface Tables {
  readonly book: PartitionBook;
  readonly notices: Notices;
  readonly mailbox: MailboxTable;
  readonly actors: ActorTable;
  readonly timers: TimerTable;
  readonly effects: EffectTable;
  readonly journal: JournalTable;
  readonly applied: AppliedCommits;
}

/** Applies one commit (K3). It checks everything before the first write. */
export function applyCommit(tables: Tables, commit: Commit, readAhead: number, now: number): CommitOutcome {
  const { book, mailbox, effects, applied } = tables;
  const { settles = [] } = commit;
  const state = book.held(commit.lease);
  if (state === undefined) return { kind: 'fenced' };
  const done = applied.of(commit);
  if (done !== undefined) {
    if (state.commits !== done.nth) return { kind: 'fenced' };
    const next = mailbox.read(state, state.cursor, state.tail, readAhead);
    return { kind: 'committed', at: done.at, beside: besideAt(state), next, owing: [] };
  }
  if (state.cursor !== commit.after) return { kind: 'fenced' };
  const before = besideAt(state);
  if (commit.beside !== undefined && commit.beside !== before) return { kind: 'fenced' };
  if (commit.upTo < commit.after || commit.upTo > state.tail) {
    throw new SvcError('invalid_argument', `upTo must be from ${commit.after} to ${state.tail}`, { field: 'upTo' });
  }
  // Rows of the journal have different positions, also while the cursor does not move.
  const stands = commit.upTo === commit.after;
  const more = Math.max(commit.results ?? settles.length, Number(stands && commit.journal !== null));
  const beside = more + (stands ? before : 0);
  const running = settles.every(({ id, attempt }) => effects.runs(state, id, attempt));
  if (!running || beside > MOST_BESIDE) return { kind: 'unsettled' };
  for (const { id } of settles) effects.close(state, id);
  if (commit.upTo > commit.after) {
    book.changeRow(state);
    state.cursor = commit.upTo;
  }
  if (more > 0 || !stands) {
    book.change(state);
    state.position = positionOf(commit.upTo, beside);
  }
  write(tables, state, commit, now);
  state.commits += 1;
  applied.add(commit, { at: now, nth: state.commits });
  const next = mailbox.read(state, state.cursor, state.tail, readAhead);
  return { kind: 'committed', at: now, beside, next, owing: [] };
}

/** How many results were handled beside the mailbox at the current cursor. */
export function besideAt({ cursor, position }: PartitionState): number {
  const { upTo, beside } = partsOf(position);
  return upTo === cursor ? beside : 0;
}

function write(tables: Tables, state: PartitionState, commit: Commit, now: number): void {
  const { book, notices, mailbox, actors, timers, effects, journal } = tables;
  for (const { address, record } of commit.records) actors.write(state, address, record);
  if (commit.journal !== null) journal.append(state, commit.after, state.position, commit.journal);
  for (const append of commit.events) {
    actors.append(state, append);
    notices.event(append);
  }
  // All partitions are in this file, so a message to another one arrives in the same transaction.
  for (const { partition, delivery } of commit.sends)
    mailbox.deliver(book.get(partition), delivery.body, now, delivery.lazy);
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

interface Applied {
  /** Store time. */
  readonly at: number;
  /** The commit's count in its partition. */
  readonly nth: number;
}

/** Commits that were applied. The same object is not applied again, whatever was committed in between. */
export class AppliedCommits implements GroupMember {
  readonly #applied = new WeakMap<Commit, Applied>();
  readonly #inGroup = new Map<Commit, Applied>();

  of(commit: Commit): Applied | undefined {
    return this.#inGroup.get(commit) ?? this.#applied.get(commit);
  }

  add(commit: Commit, applied: Applied): void {
    this.#inGroup.set(commit, applied);
  }

  beforeCommit(): void {}

  committed(): void {
    for (const [commit, applied] of this.#inGroup) this.#applied.set(commit, applied);
    this.#inGroup.clear();
  }

  rolledBack(): void {
    this.#inGroup.clear();
  }
}
