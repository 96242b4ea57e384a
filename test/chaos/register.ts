import { z } from 'zod';
import { defineActor } from '../../runtime/define-actor.ts';

/** A value with read, write and compare-and-set: the subject of `linearizability.ts`. */
export const register = defineActor({
  kind: 'register',
  version: 1,
  state: z.object({ value: z.number() }),
  initial: () => ({ value: 0 }),
  messages: {
    Read: z.object({}),
    Write: z.object({ value: z.number() }),
    Swap: z.object({ from: z.number(), to: z.number() }),
  },
  events: {},
  on: {
    Read(state, _, turn) {
      turn.reply(state.value);
      return state;
    },
    Write(_state, { value }, turn) {
      turn.reply(null);
      return { value };
    },
    Swap(state, { from, to }, turn) {
      const isSwapped = state.value === from;
      turn.reply(isSwapped);
      return isSwapped ? { value: to } : state;
    },
  },
});
