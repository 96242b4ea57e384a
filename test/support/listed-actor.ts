import { z } from 'zod';
import { addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import type { StoredDocument } from '../../runtime/documents.ts';

export interface ListedActor extends StoredDocument {
  readonly steps: number;
  readonly ended: boolean;
}

/** An actor with a timer and a list document. The message `End` ends it. */
export const listedActor = defineActor({
  kind: 'listed',
  version: 1,
  state: z.object({ steps: z.number(), ended: z.boolean() }),
  initial: () => ({ steps: 0, ended: false }),
  messages: { Step: z.object({}), End: z.object({}), TooLate: z.object({}) },
  events: {},
  done: ({ ended }) => ended,
  view: {
    collection: 'listed',
    open: { ended: false },
    project: (state, { tenant, id }) => ({ tenant, id, ...state }),
  },
  on: {
    Step(state, _message, turn) {
      turn.reply(null);
      turn.after('late', 3_600_000, 'TooLate', {});
      return { ...state, steps: state.steps + 1 };
    },
    End(state, _message, turn) {
      turn.reply(null);
      return { ...state, ended: true };
    },
    TooLate: (state) => state,
  },
});

export const listedActorAt = (name: string) => addressOf('listed', 'acme', name);
