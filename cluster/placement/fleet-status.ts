import type { PoolLayout } from '../../runtime/address.ts';
import { tagsOfPool } from '../../runtime/locator.ts';
import type { ClusterStatus, MemberStatus, PoolStatus, WaitingFor } from '../../usecases/ports/cluster.ts';
import { type Fleet, isServing } from './fleet.ts';

/** The fleet for operators: partitions that each member should own, and pools without an eligible member. */
export function statusOf(fleet: Fleet): ClusterStatus {
  const counts = new Map<string, Record<string, number>>();
  for (const { node } of fleet.members) counts.set(node, {});
  for (const layout of fleet.pools) {
    for (const holder of fleet.holdersOf(layout)) {
      const count = counts.get(holder);
      if (count !== undefined) count[layout.pool] = (count[layout.pool] ?? 0) + 1;
    }
  }
  const members = fleet.members.map(({ node, incarnation, info }): MemberStatus => {
    // Includes pools that the member may serve but owns no partition of.
    const pools = fleet.pools.map(({ pool }): [string, number] => [pool, counts.get(node)?.[pool] ?? 0]);
    const member = { node, incarnation, info };
    return {
      node_id: node,
      incarnation,
      info,
      partitions: Object.fromEntries(pools.filter(([pool]) => isServing(member, pool))),
    };
  });
  return { members, pools: fleet.pools.map((layout) => poolStatusOf(layout, fleet)) };
}

export function poolStatusOf({ pool, partitions }: PoolLayout, fleet: Fleet): PoolStatus {
  const served = fleet.isServed(pool);
  return {
    pool,
    tags: tagsOfPool(pool),
    partitions,
    served: served ? partitions : 0,
    waiting_for: served ? null : waitingFor(pool),
  };
}

/** The missing offer that a pool without an eligible member waits for. */
function waitingFor(pool: string): WaitingFor {
  const tags = tagsOfPool(pool);
  if (tags.length > 0) return { tags, reason: `waiting for a node with tags ${tags.join(', ')}` };
  const role = pool === 'system' ? 'controller or hybrid' : 'worker or hybrid';
  return { tags, reason: `waiting for a node with role ${role}` };
}
