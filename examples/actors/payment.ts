import { z } from 'zod';
import { defineEffect, SvcError } from '../../runtime/index.ts';

/** The payment itself. A real one would call a payment provider with the effect's id as its idempotency key. */
export interface Till {
  charge(effectId: string, cardToken: string, amountCents: number, signal: AbortSignal): Promise<string>;
}

/** The effect `payment.charge`: answers a receipt, fails as `failed_precondition` when the card is refused. */
export const createPaymentEffect = (till: Till) =>
  defineEffect({
    kind: 'payment.charge',
    input: z.object({ card_token: z.string(), amount_cents: z.number().int() }),
    async run({ card_token, amount_cents }, { effectId, signal }) {
      const receipt = await till.charge(effectId, card_token, amount_cents, signal);
      return { receipt };
    },
  });

/** A till for the tutorial: cards named `busy` are refused temporarily at first, `empty` permanently. */
export function createPlayTill(): Till & { readonly charges: string[] } {
  const charges: string[] = [];
  const tries = new Map<string, number>();
  return {
    charges,
    async charge(effectId, cardToken, amountCents, signal) {
      signal.throwIfAborted();
      const attempt = (tries.get(effectId) ?? 0) + 1;
      tries.set(effectId, attempt);
      if (cardToken === 'busy' && attempt < 3) throw new SvcError('unavailable', 'the payment service is busy');
      if (cardToken === 'empty') throw new SvcError('failed_precondition', 'the card is empty');
      charges.push(`${amountCents} from ${cardToken}`);
      return `R-${charges.length}`;
    },
  };
}
