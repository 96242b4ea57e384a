import type { Takeover } from '../../usecases/ports/cluster.ts';
import { type Fleet, type FleetMember, isServing } from './fleet.ts';

/** Why a partition is assigned to a node. */
export type TakeoverCause = Pick<Takeover, 'from' | 'reason' | 'because'>;

/** Most nodes that are named as the cause of a new distribution. */
const MOST_NAMED = 16;

interface Change {
  /** The owner before; null for none. */
  readonly from: string | null;
  readonly pool: string;
  readonly earlier: Fleet;
  readonly after: Fleet;
  /** Whether an incarnation said that it leaves. */
  readonly hasLeft: (incarnation: string) => boolean;
}

/** Derives from two views of the members why a partition changed its owner. */
export function reasonOf({ from, pool, earlier, after, hasLeft }: Change): TakeoverCause {
  if (from === null) {
    const isNew = !earlier.pools.some((layout) => layout.pool === pool);
    return { from, reason: isNew ? 'new_pool' : 'not_served', because: [] };
  }
  const before = earlier.members.find(({ node }) => node === from);
  const now = after.members.find(({ node }) => node === from);
  if (now === undefined)
    return { from, reason: before !== undefined && hasLeft(before.incarnation) ? 'left' : 'died', because: [] };
  if (now.info?.draining === true) return { from, reason: 'drained', because: [] };
  if (!isServing(now, pool)) return { from, reason: 'not_eligible', because: [] };
  return { from, reason: 'rebalanced', because: changedNodes(pool, earlier, after) };
}

/** The members that joined, left or changed, so that a pool was distributed again. */
function changedNodes(pool: string, earlier: Fleet, after: Fleet): string[] {
  const before = servingIn(pool, earlier.members);
  const now = servingIn(pool, after.members);
  const ids = new Set([...before.keys(), ...now.keys()]);
  return [...ids].filter((id) => before.get(id) !== now.get(id)).slice(0, MOST_NAMED);
}

const servingIn = (pool: string, members: readonly FleetMember[]): Map<string, number | undefined> =>
  new Map(members.filter((one) => isServing(one, pool)).map(({ node, info }) => [node, info?.weight]));
