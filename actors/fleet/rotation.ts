import { z } from 'zod';
import { defineActor } from '../../runtime/define-actor.ts';

/** Requirements that are counted apart; the one that was not asked for longest gives way. */
const MOST_COUNTERS = 256;

/**
 * Numbers the calls of RouteExecution, each requirement for itself: with one count for all, two callers that take turns
 * would each get every second worker only. Apart from the roster, since it changes with every call.
 */
export const fleetRotation = defineActor({
  kind: 'fleet-rotation',
  version: 1,
  pool: 'system',
  state: z.object({
    total: z.number().int(),
    /** Asked for last is last. */
    counters: z.array(z.object({ key: z.string(), next: z.number().int() })).max(MOST_COUNTERS),
  }),
  initial: () => ({ total: 0, counters: [] }),
  /** `key`: hash of the requirement. */
  messages: { Next: z.object({ key: z.string().min(1).max(64) }) },
  events: {},
  on: {
    Next({ total, counters }, { key }, turn) {
      // A new requirement starts where all others together are, so that not all of them start with the same worker.
      const number = counters.find((counter) => counter.key === key)?.next ?? total;
      turn.reply({ number });
      const others = counters.filter((counter) => counter.key !== key).slice(1 - MOST_COUNTERS);
      return { total: total + 1, counters: [...others, { key, next: number + 1 }] };
    },
  },
});
