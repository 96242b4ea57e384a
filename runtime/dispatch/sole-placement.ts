import type { ActorStore } from '../actor-store.ts';
import { partitionsOf } from '../address.ts';
import type { Placement } from '../locator.ts';

/**
 * Placement of a process that looks at no others: it wants every partition that is free and takes jobs of every pool.
 * For a kernel of its own; nodes of a fleet have the one of `cluster/placement`.
 */
export function solePlacement(store: Pick<ActorStore, 'pools'>, node: string, incarnation: string): Placement {
  // An earlier life of this node has ended (its data directory is locked); of others nothing is known.
  const isLive = (holder: string): boolean => !holder.startsWith(`${node}/`) || holder === `${node}/${incarnation}`;
  let drains = false;
  return {
    incarnation,
    async join() {},
    async assign() {
      const pools = await store.pools();
      return { wanted: new Set(pools.flatMap(partitionsOf)), queues: pools.map(({ pool }) => pool) };
    },
    lives: () => [],
    isLive,
    isGone: async (holder) => !isLive(holder),
    hasEnded: async (holder) => !isLive(holder),
    isServed: async () => !drains,
    onChange: () => () => {},
    async freed() {},
    async poolDefined() {},
    async drain() {
      drains = true;
    },
    async leave() {},
  };
}
