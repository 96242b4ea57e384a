import { z } from 'zod';
import { defineActor, message } from '../../runtime/index.ts';

/** A reminder that can be cancelled until it is due: a timer, events and a refusal in one small actor. */
export const reminder = defineActor({
  kind: 'reminder',
  version: 1,
  state: z.object({ status: z.enum(['new', 'waiting', 'sent', 'cancelled']), text: z.string() }),
  initial: () => ({ status: 'new' as const, text: '' }),
  messages: {
    Remind: message(z.object({ text: z.string().min(1), after_ms: z.number().int().min(1) }), z.string()),
    Cancel: message(z.object({}), z.string()),
    Due: z.object({}),
  },
  events: {
    reminder_set: z.object({ due: z.string() }),
    reminder_sent: z.object({ text: z.string() }),
    reminder_cancelled: z.object({}),
  },
  finalEvents: ['reminder_sent', 'reminder_cancelled'],
  on: {
    Remind(state, { text, after_ms }, turn) {
      if (state.status !== 'new') turn.refuse('conflict', `this reminder is ${state.status}`);
      const due = new Date(turn.now + after_ms).toISOString();
      turn.after('due', after_ms, 'Due', {});
      turn.emit('reminder_set', { due });
      turn.reply(due);
      return { status: 'waiting', text };
    },
    Cancel(state, _, turn) {
      if (state.status !== 'waiting') turn.refuse('conflict', `this reminder is ${state.status}`);
      turn.clear('due');
      turn.emit('reminder_cancelled', {});
      turn.reply('cancelled');
      return { ...state, status: 'cancelled' };
    },
    Due(state, _, turn) {
      if (state.status !== 'waiting') return state;
      turn.emit('reminder_sent', { text: state.text });
      return { ...state, status: 'sent' };
    },
  },
});
