import { z } from 'zod';
import type { Address, Partition } from '../../runtime/address.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { jsonField } from '../../runtime/json.ts';
import type { LedgerDelivery, LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import { unpackLines } from '../../runtime/ledger/packing.ts';
import { groupOf } from '../../runtime/ledger/segment-names.ts';
import { LEDGER, type LedgerSegment } from '../../runtime/ledger/segments.ts';
import { turnRow } from '../../runtime/projection/views.ts';
import { decodeEntry } from '../../runtime/turns/loading.ts';
import type { Payloads } from '../../runtime/turns/payload.ts';
import type { LedgerLine } from '../../runtime/turns/replay.ts';

const PAGE = 500;

/**
 * Yields the deliveries of one actor with their whole messages, oldest first, for replay. A message that was removed
 * with its actor is missing.
 */
export async function* linesOfActor(
  ledger: Pick<LedgerReader, 'actor'>,
  payloads: Payloads,
  address: Address,
): AsyncGenerator<LedgerDelivery> {
  for (let after: string | undefined; ; ) {
    const page = await ledger.actor(address, { limit: PAGE, after });
    for (const delivery of page.deliveries) {
      if (delivery.part !== undefined) continue;
      const message = delivery.body.startsWith('@') ? await decodeEntry(payloads, delivery.body) : delivery.message;
      if (!(message instanceof SvcError)) yield { ...delivery, message };
    }
    if (page.next === null) return;
    after = page.next;
  }
}

const SEGMENTS = 50;

const Lines = z.array(
  z.tuple([z.number(), z.number(), z.number().int(), turnRow.nullable(), jsonField]).rest(z.number()),
);

/**
 * Yields the deliveries of one actor from the segments of its partition, oldest first, for documents without keys.
 * Deliveries committed within the last second or so are not there yet.
 */
export async function* readLedger(
  documents: Documents,
  payloads: Payloads,
  actor: { readonly tenant: string; readonly address: Address; readonly partition: Partition },
): AsyncGenerator<LedgerLine> {
  const ledger: Collection<LedgerSegment> = await documents.collection(LEDGER);
  const { tenant, address, partition } = actor;
  let read = 0;
  for (let after = 0; ; ) {
    const where = { partition: { in: [partition, groupOf(partition).group] }, first: { gt: after } };
    const segments = await ledger.find({ tenant, where, sort: [['first', 'asc']], limit: SEGMENTS });
    for (const segment of segments) {
      after = segment.first;
      for (const [seq, at, epoch, row, message] of Lines.parse(JSON.parse(await unpackLines(segment.lines)))) {
        // Segments written again after a crash overlap: the first one of each position counts.
        if (seq <= read) continue;
        read = seq;
        const body = typeof message === 'string' ? message : JSON.stringify(message);
        if (!body.includes(address) && !body.startsWith('@')) continue;
        const decoded = await decodeEntry(payloads, body);
        // Its payload was removed with the actor that it was sent to.
        if (decoded instanceof SvcError) continue;
        if (decoded.to === address) yield { seq, at, epoch, row, body, message: decoded };
      }
    }
    if (segments.length < SEGMENTS) return;
  }
}
