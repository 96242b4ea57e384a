import { randomBytes } from 'node:crypto';
import { SvcError } from '../errors.ts';

/**
 * The calls of this process in their order. What no lease and no attempt fences is applied in this order only: a call
 * that arrives twice, or behind a later one, is not (functions/_call_order.lua).
 */
export class CallOrder {
  /** 12 characters without a space. */
  readonly caller = randomBytes(9).toString('base64url');
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** The answer of such a call. The caller of one that came late has it `unavailable` already, or may repeat it. */
export function inOrder(reply: unknown): unknown {
  if (reply === -1) {
    throw new SvcError('unavailable', 'Redis got this call behind a later one and left it out.', { store: 'actors' });
  }
  return reply;
}
