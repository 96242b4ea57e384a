import type { Unsubscribe } from '../actor-store.ts';
import { checkMember, checkSignal } from '../member-limits.ts';
import type { LiveMember, Member, MembersLook } from '../members.ts';
import { Topic } from './actor-store-notices.ts';

/** A lease that ran out may be extended by its own life, so it stays for a while. */
const FORGET_AFTER_MS = 3_600_000;

interface Row extends Member {
  readonly until: number;
}

/** What a store answers that has read all of them. */
export function lookOf(node: string, version: string, members: readonly LiveMember[]): MembersLook {
  const others = members.filter((member) => member.node !== node).map(({ remainingMs }) => remainingMs);
  return { version, members, soonestMs: Math.min(Number.POSITIVE_INFINITY, ...others) };
}

/**
 * Node leases and signals (design P2), in memory: only one process has the data file, so whoever could hold a lease or
 * hear a signal lives in it, and all of them end with it. A closed store forgets them for the same reason.
 */
export class MemberBook {
  readonly #rows = new Map<string, Row>();
  readonly #signals = new Topic<(word: string) => void>();

  announce(member: Member, ttlMs: number, first: boolean, now: number): boolean {
    checkMember(member);
    const { node, incarnation, card } = member;
    if (!first && this.#rows.get(node)?.incarnation !== incarnation) return false;
    for (const row of this.#rows.values()) if (row.until + FORGET_AFTER_MS < now) this.#rows.delete(row.node);
    this.#rows.set(node, { node, incarnation, card, until: now + ttlMs });
    return true;
  }

  members(now: number): LiveMember[] {
    return [...this.#rows.values()]
      .filter((row) => row.until > now)
      .sort((a, b) => (a.node < b.node ? -1 : 1))
      .map(({ until, ...member }) => ({ ...member, remainingMs: until - now }));
  }

  isKnown(node: string, incarnation: string): boolean {
    return this.#rows.get(node)?.incarnation === incarnation;
  }

  retire(node: string, incarnation: string): boolean {
    return this.#rows.get(node)?.incarnation === incarnation && this.#rows.delete(node);
  }

  /** Never inside the caller's turn: a listener may call the store again. */
  signal(node: string | null, word: string): void {
    checkSignal(node, word);
    setImmediate(() => {
      const topics = node === null ? this.#signals.keys() : [node];
      for (const each of topics) for (const receive of this.#signals.of(each)) receive(word);
    });
  }

  onSignal(node: string, receive: (word: string) => void): Unsubscribe {
    return this.#signals.subscribe(node, receive);
  }

  forget(): void {
    this.#rows.clear();
  }
}
