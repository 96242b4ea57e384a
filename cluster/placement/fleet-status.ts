import { tagsOfPool } from '../../runtime/locator.ts';
import type { ClusterStatus, MemberStatus, PoolStatus, WaitingFor } from '../api.ts';
import { type Fleet, isServing } from './fleet.ts';

/** What a look at the fleet means to an operator: who should hold how much, and which pools nobody serves. */
export function statusOf(fleet: Fleet): ClusterStatus {
  const counts = new Map<string, Record<string, number>>();
  for (const { node } of fleet.members) counts.set(node, {});
  for (const layout of fleet.pools) {
    for (const holder of fleet.holdersOf(layout)) {
      const count = counts.get(holder);
      if (count !== undefined) count[layout.pool] = (count[layout.pool] ?? 0) + 1;
    }
  }
  const members = fleet.members.map(({ node, incarnation, card }): MemberStatus => {
    // A pool that the member may serve is named even when it holds nothing of it.
    const pools = fleet.pools.map(({ pool }): [string, number] => [pool, counts.get(node)?.[pool] ?? 0]);
    const member = { node, incarnation, card };
    return {
      node_id: node,
      incarnation,
      card,
      partitions: Object.fromEntries(pools.filter(([pool]) => isServing(member, pool))),
    };
  });
  const pools = fleet.pools.map(({ pool, partitions }): PoolStatus => {
    const served = fleet.isServed(pool);
    return {
      pool,
      tags: tagsOfPool(pool),
      partitions,
      served: served ? partitions : 0,
      waiting_for: served ? null : waitingFor(pool),
    };
  });
  return { members, pools };
}

/** What the actors of a pool wait for when nobody serves it. */
export function waitingFor(pool: string): WaitingFor {
  const tags = tagsOfPool(pool);
  if (tags.length > 0) return { tags, reason: `waiting for a node with tags ${tags.join(', ')}` };
  const role = pool === 'system' ? 'controller or hybrid' : 'worker or hybrid';
  return { tags, reason: `waiting for a node with role ${role}` };
}
