import { z } from 'zod';
import { defineActor, EffectResult } from '../../runtime/index.ts';

/** A seat that is held for a while, and then paid for or released. */
const Booking = z.object({
  status: z.enum(['new', 'held', 'paying', 'unclear', 'paid', 'released']),
  seat: z.string(),
  price_cents: z.number().int().nonnegative(),
  receipt: z.string().nullable(),
});

const messages = {
  Hold: z.object({
    seat: z.string().min(1).max(10),
    price_cents: z.number().int().min(1),
    hold_for_ms: z.number().int().min(1).max(3_600_000).default(600_000),
  }),
  Pay: z.object({ card_token: z.string().min(1).max(200) }),
  Charged: EffectResult,
  HoldEnded: z.object({}),
  Settle: z.object({ paid: z.boolean() }),
};

const events = {
  seat_held: z.object({ seat: z.string(), held_until: z.string() }),
  payment_failed: z.object({ reason: z.string() }),
  payment_unclear: z.object({}),
  booking_paid: z.object({ receipt: z.string() }),
  booking_released: z.object({ reason: z.string() }),
};

/** One booking of one seat. A payment is made once, even if nodes die meanwhile. */
export const booking = defineActor({
  kind: 'booking',
  version: 1,
  state: Booking,
  initial: () => ({ status: 'new', seat: '', price_cents: 0, receipt: null }),
  messages,
  events,
  creates: ['Hold'],
  finalEvents: ['booking_paid', 'booking_released'],

  on: {
    Hold(state, { seat, price_cents, hold_for_ms }, turn) {
      if (state.status !== 'new') turn.refuse('conflict', `the booking exists: seat ${state.seat}, ${state.status}`);
      const heldUntil = new Date(turn.now + hold_for_ms).toISOString();
      turn.after('hold', hold_for_ms, 'HoldEnded', {});
      turn.emit('seat_held', { seat, held_until: heldUntil });
      turn.reply({ held_until: heldUntil });
      return { ...state, status: 'held', seat, price_cents };
    },

    HoldEnded(state, _, turn) {
      if (state.status !== 'held') return state;
      turn.emit('booking_released', { reason: 'not paid in time' });
      return { ...state, status: 'released' };
    },

    Pay(state, { card_token }, turn) {
      if (state.status !== 'held') turn.refuse('failed_precondition', `the booking is ${state.status}`);
      turn.clear('hold');
      turn.effect({
        kind: 'payment.charge',
        mode: 'once',
        input: { card_token, amount_cents: state.price_cents },
        replyAs: 'Charged',
        timeoutMs: 30_000,
        retry: { maxAttempts: 3, initialDelayMs: 200, maxDelayMs: 2_000 },
      });
      turn.reply({ status: 'paying' });
      return { ...state, status: 'paying' };
    },

    Charged(state, { outcome }, turn) {
      if (state.status !== 'paying') return state;
      switch (outcome.kind) {
        case 'done': {
          const { receipt } = z.object({ receipt: z.string() }).parse(outcome.value);
          turn.emit('booking_paid', { receipt });
          return { ...state, status: 'paid', receipt };
        }
        case 'failed':
          turn.emit('payment_failed', { reason: outcome.message });
          turn.emit('booking_released', { reason: 'payment failed' });
          return { ...state, status: 'released' };
        case 'in_doubt':
          turn.emit('payment_unclear', {});
          return { ...state, status: 'unclear' };
      }
    },

    Settle(state, { paid }, turn) {
      if (state.status !== 'unclear') turn.refuse('failed_precondition', `the booking is ${state.status}`);
      turn.reply({ status: paid ? 'paid' : 'released' });
      if (!paid) {
        turn.emit('booking_released', { reason: 'payment was not made' });
        return { ...state, status: 'released' };
      }
      turn.emit('booking_paid', { receipt: 'settled by hand' });
      return { ...state, status: 'paid', receipt: 'settled by hand' };
    },
  },

  view: {
    collection: 'bookings',
    indexes: [['status']],
    project: (state, { tenant, id }) => ({ tenant, id, status: state.status, seat: state.seat }),
  },
  done: (state) => state.status === 'paid' || state.status === 'released',
});
