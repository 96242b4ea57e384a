import { z } from 'zod';
import { defineActor } from '../../runtime/define-actor.ts';

/** Counts its asks: a lost or repeated message is visible at once, and an ask is cheap enough to time a take-over. */
export const ticker = defineActor({
  kind: 'ticker',
  version: 1,
  state: z.object({ value: z.number() }),
  initial: () => ({ value: 0 }),
  messages: { Tick: z.object({}) },
  events: {},
  on: {
    Tick(state, _, turn) {
      const value = state.value + 1;
      turn.reply({ value });
      return { value };
    },
  },
});
