import type { Address } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import { turnsFirst } from '../../runtime/kit/waits.ts';
import type { LedgerDelivery, LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import type { RecordedParts } from '../../runtime/runtime.ts';
import { decodeEntry } from '../../runtime/turns/loading.ts';
import type { LedgerLine } from '../../runtime/turns/replay.ts';

/** Position of a delivery in the ledger, with its time: a store that was restored gives positions again. */
type DeliveryPosition = Pick<LedgerDelivery, 'partition' | 'seq' | 'at'>;

/** Most deliveries that a state is rebuilt from. */
export const MOST_REPLAYED = 50_000;

const AT_ONCE = 1_000;

/** Turns that are replayed at a stretch: one with a large state takes some milliseconds. */
const AT_A_STRETCH = 4;

interface LineParts {
  readonly ledger: LedgerReader;
  readonly payloads: RecordedParts['payloads'];
}

/**
 * An actor's recorded deliveries with their whole messages, oldest first: all, or those up to one of them. Throws
 * `failed_precondition` when there are too many, or when a payload was removed.
 */
export async function* actorLines(
  { ledger, payloads }: LineParts,
  address: Address,
  end?: { readonly last: DeliveryPosition; readonly side: 'after' | 'before' },
): AsyncGenerator<LedgerLine> {
  let count = 0;
  for (let after: string | undefined; ; ) {
    const page = await ledger.actor(address, { limit: AT_ONCE, after });
    for (const delivery of page.deliveries) {
      const { partition, seq, at } = delivery;
      const isLast = seq === end?.last.seq && at === end.last.at && partition === end.last.partition;
      if (isLast && end?.side === 'before') return;
      if (delivery.part !== undefined) continue;
      count += 1;
      if (count > MOST_REPLAYED) {
        const why = `more than ${MOST_REPLAYED} deliveries precede the message, the maximum for rebuilding a state: name an earlier message`;
        throw new SvcError('failed_precondition', why);
      }
      yield await lineOf(payloads, delivery);
      if (count % AT_A_STRETCH === 0) await turnsFirst();
      if (isLast) return;
    }
    if (page.next === null) return;
    after = page.next;
  }
}

async function lineOf(payloads: LineParts['payloads'], delivery: LedgerDelivery): Promise<LedgerLine> {
  const { seq, at, epoch, row, body } = delivery;
  const message = await decodeEntry(payloads, body);
  if (message instanceof SvcError)
    throw new SvcError('failed_precondition', `the payload of delivery ${seq} was removed`);
  return { seq, at, epoch, row, body, message };
}
