import { z } from 'zod';
import { type Address, parseAddress } from './address.ts';
import { jsonField } from './json-field.ts';

/** Who wants to hear that an actor has ended, as which message, and what to send back unchanged. */
export const Notify = z.object({
  to: z.custom<Address>((value) => {
    if (typeof value !== 'string') return false;
    try {
      parseAddress(value);
      return true;
    } catch {
      return false;
    }
  }, 'expected an address kind/tenant/id'),
  /** Message type of the one that is told. */
  as: z.string().min(1).max(100),
  context: jsonField,
});
export type Notify = z.output<typeof Notify>;
