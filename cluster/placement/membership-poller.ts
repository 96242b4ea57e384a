import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import { jsonOrNull } from '../../runtime/json.ts';
import { type Member, type Members, membersAfter } from '../../runtime/members.ts';
import type { Random } from '../../runtime/random.ts';
import { Fleet } from './fleet.ts';

interface MembershipPollerParts {
  readonly members: Pick<Members, 'readMembers' | 'pools'>;
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
  /** Called when a poll saw a change. */
  readonly onSeen: (fleet: Fleet, before: Fleet | null) => void;
  /** Called when a poll that the kernel did not request saw a change: the kernel should assign again. */
  readonly onSurprise: () => void;
}

/** Delay after a lease expires, since the store's clock counts whole milliseconds. */
const SETTLED_MS = 10;

/** Fleets up to this size poll without delay; in larger ones polls spread over one millisecond for each member. */
const WITHOUT_SPREAD = 32;

/** Polls the members and pools of the store. */
export class MembershipPoller {
  readonly #parts: MembershipPollerParts;
  #fleet: Fleet | null = null;
  #known: { readonly version: string; readonly members: readonly Member[] } = { version: '', members: [] };
  /** Polls are numbered, so that a slow one does not overwrite a later result. */
  #polls = 0;
  #seen = 0;
  /** The next poll, shared by all calls before it begins; and the end of the previous one. */
  #next: Promise<Fleet> | null = null;
  #ended: Promise<void> = Promise.resolve();
  #cancel = (): void => {};
  #stopped = false;

  constructor(parts: MembershipPollerParts) {
    this.#parts = parts;
  }

  /** Result of the last poll; null before the first one. */
  get fleet(): Fleet | null {
    return this.#fleet;
  }

  /** Spreads the polls after a hint, since all nodes get it at the same time. One poll then finds several changes. */
  get spreadMs(): number {
    const size = this.#fleet?.members.length ?? 0;
    return size <= WITHOUT_SPREAD ? 0 : this.#parts.random.fraction() * size;
  }

  /** Makes the next poll read all members, after a change that the version of the members may not show. */
  readAll(): void {
    this.#known = { version: '', members: [] };
  }

  /** Stops polling when leases expire. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async poll(): Promise<Fleet> {
    this.#polls += 1;
    const poll = this.#polls;
    const { node, members: store } = this.#parts;
    const known = this.#known;
    const [found, pools] = await Promise.all([store.readMembers(node, known.version), store.pools()]);
    this.#pollAtNextExpiry(found.soonestMs);
    const before = this.#fleet;
    if (before !== null && poll < this.#seen) return before;
    this.#seen = poll;
    // What changed since `known` is applied to its members: another poll may have replaced them meanwhile.
    const members = membersAfter(known.members, found);
    this.#known = { version: found.version, members };
    if (before?.isAlso(members, pools)) return before;
    this.#fleet = new Fleet(members, pools, before);
    this.#parts.onSeen(this.#fleet, before);
    return this.#fleet;
  }

  /** Coalesces concurrent calls: one poll at a time, begun after the call. */
  fresh(): Promise<Fleet> {
    this.#next ??= this.#ended.then(() => this.#begin());
    return this.#next;
  }

  /** A poll that the kernel did not request; calls `onSurprise` after a change. */
  async pollUnrequested(): Promise<Fleet> {
    const before = this.#fleet;
    const fleet = await this.poll();
    if (fleet !== before) this.#parts.onSurprise();
    return fleet;
  }

  #begin(): Promise<Fleet> {
    this.#next = null;
    const poll = this.pollUnrequested();
    this.#ended = poll.then(
      () => {},
      () => {},
    );
    return poll;
  }

  /** Expiry of a lease is not announced, so this polls when the earliest lease expires. */
  #pollAtNextExpiry(soonestMs: number): void {
    const { clock, warn } = this.#parts;
    this.#cancel();
    if (soonestMs === Number.POSITIVE_INFINITY || this.#stopped) return;
    this.#cancel = clock.after(soonestMs + SETTLED_MS + this.spreadMs, () => {
      this.fresh().catch((error: unknown) => warn('the members could not be polled', error));
    });
  }
}

/**
 * A hint between members, sent as a signal through the store. It may be lost and proves nothing; it only triggers an earlier
 * poll.
 */
export const FleetHint = z.object({
  /** `joined`, `changed` (tags, draining), `left` and `retired` concern a member, `freed` returned partitions, `pooled` a new pool. */
  fleet: z.enum(['joined', 'changed', 'left', 'retired', 'freed', 'pooled']),
  /** Incarnation of the sender. */
  by: z.string().max(128),
  /** Whether the store's version of the members shows the change. Absent: an earlier program, which may not maintain it. */
  versioned: z.boolean().optional(),
});

export type FleetHint = z.output<typeof FleetHint>;

/** Null for other signals, which need not be JSON, and hints of later versions. */
export const parseFleetHint = (text: string): FleetHint | null => FleetHint.safeParse(jsonOrNull(text)).data ?? null;
