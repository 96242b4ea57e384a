import type { Delivery } from '../../clients/typescript/gen/operations.ts';
import { api } from './queries.ts';

/** A message that an actor received, with its last attempt. */
export type GotMessage = Pick<Delivery, 'message_id' | 'type' | 'at'>;

const PAGE = 1_000;
/** Maximum number of pages read: a slider over more messages would be unusable. */
const MOST_PAGES = 5;

/** Outcomes of deliveries that did not change the state, because the message failed or had to wait. */
const NOT_HANDLED: ReadonlySet<Delivery['outcome']> = new Set(['retried', 'deferred', 'dead-lettered']);

/** Messages that an actor handled, oldest first, each once. */
export async function messagesOf(
  kind: string,
  id: string,
): Promise<{ readonly messages: readonly GotMessage[]; readonly isWhole: boolean }> {
  const handled = new Map<string, GotMessage>();
  let next: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await api.actors.listHistory({ kind, id, order: 'oldest_first', limit: PAGE, next });
    for (const { message_id, type, at, outcome } of page.deliveries)
      if (!NOT_HANDLED.has(outcome)) handled.set(message_id, { message_id, type, at });
    if (page.next === null) return { messages: [...handled.values()], isWhole: true };
    next = page.next;
  }
  return { messages: [...handled.values()], isWhole: false };
}
