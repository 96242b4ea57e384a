import { z } from 'zod';
import type { Address, Partition } from '../address.ts';
import type { Collection, Documents } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { jsonField } from '../json.ts';
import type { Message } from '../message.ts';
import { decodeEntry } from '../turns/loading.ts';
import type { Payloads } from '../turns/payload.ts';
import type { TurnRow } from '../turns/work.ts';
import { LEDGER, type LedgerSegment, unpackLines } from './ledger.ts';
import { turnRow } from './views.ts';

/** One delivery as the ledger has it (design R3). */
export interface LedgerLine {
  /** Position in the partition: the number of its mailbox entry, a fraction for a result handled beside the mailbox. */
  readonly seq: number;
  /** When it was appended, Unix ms on the store's clock. */
  readonly at: number;
  /** Lease epoch of the commit that handled it. */
  readonly epoch: number;
  /** What became of it; null when the node kept no ledger. */
  readonly row: TurnRow | null;
  /** The message as the mailbox had it. */
  readonly body: string;
  readonly message: Message;
}

const SEGMENTS = 50;

const Lines = z.array(z.tuple([z.number(), z.number(), z.number().int(), turnRow.nullable(), jsonField]));

/** Deliveries of one actor, oldest first. What was committed within the last second or so is not there yet. */
export async function* readLedger(
  documents: Documents,
  payloads: Payloads,
  actor: { readonly tenant: string; readonly address: Address; readonly partition: Partition },
): AsyncGenerator<LedgerLine> {
  const ledger: Collection<LedgerSegment> = await documents.collection(LEDGER);
  const { tenant, address, partition } = actor;
  let read = 0;
  for (let after = 0; ; ) {
    const where = { partition, first: { gt: after } };
    const segments = await ledger.find({ tenant, where, sort: [['first', 'asc']], limit: SEGMENTS });
    for (const segment of segments) {
      after = segment.first;
      for (const [seq, at, epoch, row, message] of Lines.parse(JSON.parse(await unpackLines(segment.lines)))) {
        // Segments written again after a crash overlap: the first of each position counts.
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
