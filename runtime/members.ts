import type { PoolLayout } from './address.ts';
import { SvcError } from './errors.ts';
import type { Unsubscribe } from './leases.ts';

/** One life of a node: the process that holds the node lease (P2). */
export interface Member {
  readonly node: string;
  /** UUID of this life; a restart has another. */
  readonly incarnation: string;
  /** What others need to know of it; opaque to the store, at most 16 KiB. */
  readonly card: string;
}

export interface LiveMember extends Member {
  /** Until its lease runs out, unless it is extended. */
  readonly remainingMs: number;
}

/**
 * What a look at the members found.
 * Implemented by the actor stores: sqlite/actor-store.ts and redis/members.ts.
 */
export interface MembersRead {
  /** Another one whenever somebody comes, goes or changes. Empty: the store cannot tell, so the next look reads them. */
  readonly version: string;
  /** As `members` answers them; null: as at the version that was known. */
  readonly members: readonly LiveMember[] | null;
  /** Until the first lease of another node runs out, unless it is extended; infinity for none. */
  readonly soonestMs: number;
}

/**
 * Who is there. A lease that held when the store went away for all nodes holds for one more term after it came back. A
 * node lease is taken at start, renewed with the partition leases, and runs out on the store's clock;
 * it may be ended early, by the node itself or by a peer that saw the process die. Ending one that lives costs a
 * hand-over, and the effects that others claim before it has its seat again: what a process commits is decided by its
 * partition leases alone (K4).
 */
export interface Members {
  /**
   * Takes (`first`) or extends the node lease. Taking wins over an earlier life of the same node at once. False: the
   * lease is not this life's any more, so it was retired or another life of the node took it.
   */
  announce(member: Member, ttlMs: number, first: boolean): Promise<boolean>;
  /** Members whose lease has not run out, ordered by node id. */
  members(): Promise<LiveMember[]>;
  /**
   * The same for `node`, which knows them at a version: nothing is read of them while that is theirs, so a large fleet costs
   * each of its nodes no more than a small one.
   */
  readMembers(node: string, known: string): Promise<MembersRead>;
  /** Ends a node lease early; false when that life does not hold it. */
  retire(node: string, incarnation: string): Promise<boolean>;
  /**
   * Whether nobody ended that life: it holds the node lease, or let it run out. False once it was retired, or another
   * life of the node followed it: then its process is gone.
   */
  isKnown(node: string, incarnation: string): Promise<boolean>;
  /** Every pool defined so far (`definePool`), ordered by name. */
  pools(): Promise<PoolLayout[]>;
  /** A word to one node, or to all (null). May be lost: it only shortens a wait. At most 16 KiB. */
  signal(node: string | null, word: string): Promise<void>;
  /** Calls back with each word to `node` or to all, its own included. */
  onSignal(node: string, receive: (word: string) => void): Unsubscribe;
}

/** Most bytes of a member's card and of a signal's word, as UTF-8. */
export const MEMBER_TEXT_BYTES = 16 * 1024;

const MOST_NAME_LENGTH = 256;

const CONTROL = /\p{Cc}/u;

/** What every `Members` refuses before it asks its store: `invalid_argument` or `payload_too_large`, naming the field. */
export function checkMember({ node, incarnation, card }: Member): void {
  checkName(node, 'node');
  checkName(incarnation, 'incarnation');
  checkSize(card, 'card');
}

/** As `checkMember`, for a signal. */
export function checkSignal(node: string | null, word: string): void {
  if (node !== null) checkName(node, 'node');
  checkSize(word, 'word');
}

function checkName(name: string, field: string): void {
  if (name !== '' && name.length <= MOST_NAME_LENGTH && !CONTROL.test(name)) return;
  const expected = `1 to ${MOST_NAME_LENGTH} characters, none of them a control character`;
  throw new SvcError('invalid_argument', `${field} must have ${expected}`, { field });
}

function checkSize(text: string, field: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MEMBER_TEXT_BYTES) return;
  throw new SvcError('payload_too_large', `${field} has ${bytes} bytes; at most ${MEMBER_TEXT_BYTES} are taken`, {
    field,
  });
}
