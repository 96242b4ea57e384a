import type { Address } from '../../runtime/address.ts';
import type { ActorClient } from '../../runtime/client.ts';
import type { Json } from '../../runtime/json.ts';

/** Refusals of one session that wait at this node; of a greater flood the rest is not recorded. */
const MOST_WAITING = 64;
const TIMEOUT_MS = 5_000;

/**
 * Tells sessions of refused envelopes, those of one session one after another: strangers send them, and its mailbox is
 * for its calls. Throws as `ActorClient.ask`.
 */
export function refusalsInTurn(client: Pick<ActorClient, 'ask'>): (session: Address, refusal: Json) => Promise<void> {
  const waiting = new Map<Address, { count: number; last: Promise<unknown> }>();
  return async (session, refusal) => {
    const line = waiting.get(session) ?? { count: 0, last: Promise.resolve() };
    if (line.count >= MOST_WAITING) return;
    line.count += 1;
    waiting.set(session, line);
    const told = line.last.then(() => client.ask(session, 'Refuse', refusal, { timeoutMs: TIMEOUT_MS }));
    // What became of the one before is its own caller's to hear.
    line.last = told.catch(() => {});
    try {
      await told;
    } finally {
      line.count -= 1;
      if (line.count === 0) waiting.delete(session);
    }
  };
}
