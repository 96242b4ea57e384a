import { randomUUID } from 'node:crypto';
import type { Placement } from '../../runtime/locator.ts';

/** A placement that a test sets; `ring` notifies the listeners of a change. */
export function testPlacement(assign: Placement['assign']) {
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
