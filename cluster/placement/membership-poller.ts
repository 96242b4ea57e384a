import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import type { LiveMember, Members } from '../../runtime/members.ts';
import type { Random } from '../../runtime/random.ts';
import { Fleet, keyOf } from './fleet.ts';

interface MembershipPollerParts {
  readonly members: Pick<Members, 'lookAtMembers' | 'pools'>;
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
  /** A look saw something else than the one before. */
  readonly onSeen: (fleet: Fleet) => void;
  /** The kernel did not ask for that look: it should ask. */
  readonly onSurprise: () => void;
}

/** After a lease ran out: the store's clock counts whole milliseconds. */
const SETTLED_MS = 10;

/** Up to so many members all may look at once; in a larger fleet each adds a millisecond over which they spread. */
const AT_ONCE = 32;

/** Looks at who is there and which pools there are. */
export class MembershipPoller {
  readonly #parts: MembershipPollerParts;
  #fleet: Fleet | null = null;
  #known: { readonly version: string; readonly members: readonly LiveMember[] } = { version: '', members: [] };
  /** Looks are numbered, so that a slow one does not hide what a later one saw. */
  #looks = 0;
  #seen = 0;
  /** A look that has not begun yet, for all who ask before it does; and the end of the one before. */
  #next: Promise<Fleet> | null = null;
  #ended: Promise<void> = Promise.resolve();
  #cancel = (): void => {};
  #stopped = false;

  constructor(parts: MembershipPollerParts) {
    this.#parts = parts;
  }

  /** As last seen; null before the first look. */
  get fleet(): Fleet | null {
    return this.#fleet;
  }

  /** What everybody hears, everybody would look at in the same moment, and each look reads every member. */
  get spreadMs(): number {
    const size = this.#fleet?.members.length ?? 0;
    return size <= AT_ONCE ? 0 : this.#parts.random.fraction() * size;
  }

  /** The next look reads all members: programs that keep no version of them may have told of a change. */
  readAll(): void {
    this.#known = { version: '', members: [] };
  }

  /** No look by itself any more. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async look(): Promise<Fleet> {
    this.#looks += 1;
    const look = this.#looks;
    const { node, members: store } = this.#parts;
    const known = this.#known;
    const [found, pools] = await Promise.all([store.lookAtMembers(node, known.version), store.pools()]);
    this.#lookWhenOneRunsOut(found.soonestMs);
    const before = this.#fleet;
    if (before !== null && look < this.#seen) return before;
    this.#seen = look;
    const members = found.members ?? known.members;
    this.#known = { version: found.version, members };
    if (before?.key === keyOf(members, pools)) return before;
    this.#fleet = new Fleet(members, pools, before);
    this.#parts.onSeen(this.#fleet);
    return this.#fleet;
  }

  /** Many may ask at once: one look at a time, and never one that began before the question. */
  fresh(): Promise<Fleet> {
    this.#next ??= this.#ended.then(() => this.#begin());
    return this.#next;
  }

  /** A look that the kernel did not ask for: it should ask when something is different. */
  async unasked(): Promise<Fleet> {
    const before = this.#fleet;
    const fleet = await this.look();
    if (fleet !== before) this.#parts.onSurprise();
    return fleet;
  }

  #begin(): Promise<Fleet> {
    this.#next = null;
    const look = this.unasked();
    this.#ended = look.then(
      () => {},
      () => {},
    );
    return look;
  }

  /** A lease that runs out is nobody's word: without this it would be seen at the next renewal only. */
  #lookWhenOneRunsOut(soonestMs: number): void {
    const { clock, warn } = this.#parts;
    this.#cancel();
    if (soonestMs === Number.POSITIVE_INFINITY || this.#stopped) return;
    this.#cancel = clock.after(soonestMs + SETTLED_MS + this.spreadMs, () => {
      this.fresh().catch((error: unknown) => warn('who is there is not known', error));
    });
  }
}

/**
 * What members tell each other through the store's signals. A word may be lost and proves nothing: it only makes the
 * others look earlier than they would.
 */
export const FleetHint = z.object({
  /** `joined`, `changed` (tags, draining), `left` and `retired` speak of a member, `freed` of partitions given back, `pooled` of a new pool. */
  fleet: z.enum(['joined', 'changed', 'left', 'retired', 'freed', 'pooled']),
  /** The life that tells it. */
  by: z.string().max(128),
});

export type FleetHint = z.output<typeof FleetHint>;

/** Null for words of others, and of later versions. */
export function parseFleetHint(text: string): FleetHint | null {
  let word: unknown;
  try {
    word = JSON.parse(text);
  } catch {
    // Signals are shared; what is not JSON is somebody else's.
    return null;
  }
  return FleetHint.safeParse(word).data ?? null;
}
