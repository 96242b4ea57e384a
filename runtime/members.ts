import type { PoolLayout } from './address.ts';
import { SvcError } from './errors.ts';
import type { Unsubscribe } from './leases.ts';

/** One incarnation of a node: the process that holds the node lease (P2). */
export interface Member {
  readonly node: string;
  /** UUID of this process. A restart has another. */
  readonly incarnation: string;
  /** The node's description of itself for other nodes. Opaque to the store, at most 16 KiB. */
  readonly card: string;
}

export interface LiveMember extends Member {
  /** Time until its lease expires, unless it is extended. */
  readonly remainingMs: number;
}

/**
 * Result of a read of the members.
 * Implemented by the actor stores: sqlite/actor-store.ts and redis/members.ts.
 */
export interface MembersRead {
  /**
   * Changes whenever a member joins, leaves or changes. Empty: the store keeps no version, so the next read returns the
   * members.
   */
  readonly version: string;
  /** Those that joined or changed since the known version; where `gone` is null, all of them. Ordered by node id. */
  readonly members: readonly Member[];
  /**
   * Node ids of those that ended since the known version. Null: the store keeps no version, or it does not know what
   * changed since the known one, so `members` are all.
   */
  readonly gone: readonly string[] | null;
  /** Time until the first lease of another node expires, unless it is extended; infinity when there is none. */
  readonly soonestMs: number;
}

/**
 * The live nodes. A node takes its node lease at start and renews it with the partition leases; the lease expires on
 * the store's clock. The node itself, or a peer that saw the process die, may end it early. Ending the lease of a live
 * node costs a hand-over, and other nodes may claim its effects until it has joined again. Its commits stay safe: its
 * partition leases alone decide them (K4). A lease that was valid when the store became unavailable to all nodes stays
 * valid for one more term after it came back.
 */
export interface Members {
  /**
   * Takes (`first`) or extends the node lease. Taking it overrides an earlier incarnation of the same node at once.
   * False: this incarnation no longer holds the lease, because it was retired or another one of the node took it.
   */
  announce(member: Member, ttlMs: number, first: boolean): Promise<boolean>;
  /** Returns the members whose lease has not expired, ordered by node id. */
  members(): Promise<LiveMember[]>;
  /**
   * Returns for `node` what changed since version `known`, whose members it already has; '' for none. So a change
   * costs each node one member, in a large fleet as in a small one. A store may return all members every time.
   */
  readMembers(node: string, known: string): Promise<MembersRead>;
  /** Ends a node lease early. False when that incarnation does not hold it. */
  retire(node: string, incarnation: string): Promise<boolean>;
  /**
   * Whether that incarnation was not ended: it holds the node lease or let it expire. False once it was retired or
   * another incarnation of the node followed it: its process is gone then.
   */
  isKnown(node: string, incarnation: string): Promise<boolean>;
  /** Returns every pool defined so far (`definePool`), ordered by name. */
  pools(): Promise<PoolLayout[]>;
  /** Sends a text to one node, or to all (null). It may get lost: it only shortens a wait. At most 16 KiB. */
  signal(node: string | null, content: string): Promise<void>;
  /** Calls back with each signal to `node` or to all nodes, also with those that it sent itself. */
  onSignal(node: string, receive: (content: string) => void): Unsubscribe;
}

/**
 * The members after a read at the version of `known`. The read says how each changed node is now, so it may be applied
 * twice.
 */
export function membersAfter(
  known: readonly Member[],
  { members, gone }: Pick<MembersRead, 'members' | 'gone'>,
): readonly Member[] {
  if (gone === null) return members;
  if (members.length === 0 && gone.length === 0) return known;
  const rows = new Map(known.map((member) => [member.node, member]));
  for (const node of gone) rows.delete(node);
  for (const member of members) rows.set(member.node, member);
  return [...rows.values()].sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** Longest `card` of a member and longest text of a signal, in bytes of UTF-8. */
export const MEMBER_TEXT_BYTES = 16 * 1024;

const MOST_NAME_LENGTH = 256;

const CONTROL = /\p{Cc}/u;

/**
 * Checks a member before any adapter of `Members` calls its store. Throws `invalid_argument` or `payload_too_large`,
 * naming the field.
 */
export function checkMember({ node, incarnation, card }: Member): void {
  checkName(node, 'node');
  checkName(incarnation, 'incarnation');
  checkSize(card, 'card');
}

/** `checkMember` for a signal. */
export function checkSignal(node: string | null, content: string): void {
  if (node !== null) checkName(node, 'node');
  checkSize(content, 'content');
}

function checkName(name: string, field: string): void {
  if (name !== '' && name.length <= MOST_NAME_LENGTH && !CONTROL.test(name)) return;
  const expected = `1 to ${MOST_NAME_LENGTH} characters, none of them a control character`;
  throw new SvcError('invalid_argument', `${field} must have ${expected}`, { field });
}

function checkSize(text: string, field: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MEMBER_TEXT_BYTES) return;
  throw new SvcError('payload_too_large', `${field} has ${bytes} bytes; at most ${MEMBER_TEXT_BYTES} are allowed`, {
    field,
  });
}
