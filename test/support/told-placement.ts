import { randomUUID } from 'node:crypto';
import type { Placement } from '../../runtime/locator.ts';

/** A placement in which a test says what this node serves; `ring` says that it changed. */
export function toldPlacement(assign: Placement['assign']) {
  const wakes = new Set<() => void>();
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
    async freed() {},
    async poolDefined() {},
    async drain() {},
    async leave() {},
  };
  const ring = (): void => {
    for (const wake of wakes) wake();
  };
  return { placement, ring };
}
