import { randomUUID } from 'node:crypto';
import type { Placement, PlacementChange } from '../../runtime/locator.ts';

/** A placement that a test sets; `ring` notifies the listeners of a change, `freed` counts announcements. */
export function testPlacement(assign: Placement['assign']) {
  const wakes = new Set<(change: PlacementChange) => void>();
  let announced = 0;
  const placement: Placement = {
    incarnation: randomUUID(),
    async join() {},
    assign,
    incarnations: () => [],
    isLive: () => true,
    isGone: async () => false,
    hasEnded: async () => false,
    isServed: async () => true,
    onChange(wake) {
      wakes.add(wake);
      return () => wakes.delete(wake);
    },
    async freed() {
      announced += 1;
    },
    async poolDefined() {},
    async drain() {},
    async leave() {},
  };
  const ring = (change: PlacementChange = 'members'): void => {
    for (const wake of wakes) wake(change);
  };
  return { placement, ring, freed: () => announced };
}
