import { z } from 'zod';
import { defineActor } from '../runtime/define-actor.ts';

/** The call to every peer: add one to the counter of a key and return the new value, with 100 bytes of payload. */
export const counter = defineActor({
  kind: 'counter',
  version: 1,
  state: z.object({ value: z.number() }),
  initial: () => ({ value: 0 }),
  messages: { Add: z.object({ payload: z.string() }) },
  events: {},
  on: {
    Add(state, _, turn) {
      turn.reply(state.value + 1);
      return { value: state.value + 1 };
    },
  },
});

export const PAYLOAD = 'x'.repeat(100);
export const KEYS = 1_000;
