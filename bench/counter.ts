import { z } from 'zod';
import { defineActor } from '../runtime/define-actor.ts';

/** What is asked of every peer: add one to the counter of a key, answer the new value; 100 bytes come along. */
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
