import { z } from 'zod';
import type { ActorDefinition } from '../../runtime/define-actor.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import type { EffectHandler } from '../../runtime/effect.ts';
import { step, steps } from '../chaos/steps.ts';
import { ticker } from '../chaos/ticker.ts';

/** Goes off some time after it was set, and counts how often. */
export const alarm = defineActor({
  kind: 'alarm',
  version: 1,
  state: z.object({ fired: z.number() }),
  initial: () => ({ fired: 0 }),
  messages: { Set: z.object({ afterMs: z.number() }), GoOff: z.object({}) },
  events: {},
  on: {
    Set(state, { afterMs }, turn) {
      turn.after('alarm', afterMs, 'GoOff', {});
      turn.reply(null);
      return state;
    },
    GoOff({ fired }) {
      return { fired: fired + 1 };
    },
  },
});

/** What the nodes of these tests serve beside the product's own. */
export const actors: readonly ActorDefinition[] = [ticker, steps, alarm];
export const effects: readonly EffectHandler[] = [step];
