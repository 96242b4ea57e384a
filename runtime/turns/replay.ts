import { z } from 'zod';
import { type Address, type Partition, parseAddress } from '../address.ts';
import type { ActorEvent } from '../client.ts';
import type { ActorDefinition } from '../define-actor.ts';
import type { Collection, Documents } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { jsonField } from '../json.ts';
import { LEDGER, type LedgerSegment, unpackLines } from '../ledger/segments.ts';
import type { Message } from '../message.ts';
import { turnRow } from '../projection/views.ts';
import { RETRY_TIMER, type RetrySettings, type TurnRow } from './actor-draft.ts';
import { Batch } from './batch.ts';
import { decodeEntry, initialRecord } from './loading.ts';
import type { Payloads } from './payload.ts';
import type { ActorRecord } from './record.ts';

/** Partition of a replayed actor, which lives in no store. */
const NOWHERE: Partition = 'replay:0';

interface Replayed {
  readonly record: ActorRecord;
  readonly events: readonly (Omit<ActorEvent, 'payload'> & { readonly payload: unknown })[];
}

/**
 * Rebuilds an actor from its deliveries up to any of them (K5): turns are pure, their time is recorded, and a handler
 * that threw when it was recorded is not run again. `retry` holds the settings under which the deliveries were handled.
 * Throws `failed_precondition` for a line without its turn, written by a node that kept no ledger.
 */
export async function replayActor(
  definition: ActorDefinition,
  address: Address,
  lines: AsyncIterable<LedgerLine> | Iterable<LedgerLine>,
  options: { readonly retry: RetrySettings; readonly upTo?: number },
): Promise<Replayed> {
  const { tenant, id } = parseAddress(address);
  const upTo = options.upTo ?? Number.POSITIVE_INFINITY;
  let record = initialRecord(definition, { address, tenant, id });
  const events: { seq: number; at: number; name: string; payload: unknown }[] = [];
  const bodies = new Map<string, Message>();
  for await (const { seq, at, row, body, message } of lines) {
    if (seq > upTo) break;
    if (row === null) throw new SvcError('failed_precondition', `delivery ${seq} has no turn in the ledger`);
    bodies.set(body, message);
    // Never run, or out of attempts at once: it changed nothing.
    if (row.outcome === 'dead-lettered') continue;
    const batch = batchOf(row, message, bodies, options.retry);
    const self = { address, partition: NOWHERE, tenant, definition };
    batch.deliver({ seq, at, body }, message, { ...self, record, text: null, owned: false, size: 0 }, bodies);
    for (const work of batch.writes.drafts.values()) {
      for (const [index, event] of work.events.entries()) events.push({ ...event, seq: work.firstEvent + index });
      record = work.record;
    }
    if (record.stuck === null) bodies.clear();
  }
  return { record, events };
}

/** A batch of one delivery under the conditions in its row. */
function batchOf(row: TurnRow, message: Message, bodies: ReadonlyMap<string, Message>, retry: RetrySettings): Batch {
  const failing = new Map<string, string>();
  const note = (failed: Message | undefined, line: { readonly outcome: string; readonly error?: string }): void => {
    if (failed === undefined || (line.outcome !== 'retried' && line.outcome !== 'dead-lettered')) return;
    failing.set(failed.id, line.error ?? '');
  };
  if (message.timer !== RETRY_TIMER) note(message, row);
  for (const line of row.drained ?? []) note(bodies.get(line.body), line);
  const drainLimit = Math.max(1, row.drained?.length ?? 0);
  return new Batch(row.now, () => 0, { ...retry, drainLimit, failing });
}

/** One delivery as recorded in the ledger (R3). */
export interface LedgerLine {
  /**
   * Position in the partition: the number of its mailbox entry, with a fraction for a result handled beside the
   * mailbox.
   */
  readonly seq: number;
  /** When it was appended, Unix ms on the store's clock. */
  readonly at: number;
  /** Lease epoch of the commit that handled it. */
  readonly epoch: number;
  /** Outcome of the delivery; null when the node kept no ledger. */
  readonly row: TurnRow | null;
  /** The message as it was in the mailbox. */
  readonly body: string;
  readonly message: Message;
}

const SEGMENTS = 50;

const Lines = z.array(z.tuple([z.number(), z.number(), z.number().int(), turnRow.nullable(), jsonField]));

/**
 * Yields the deliveries of one actor, oldest first. Deliveries committed within the last second or so are not there
 * yet.
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
    const where = { partition, first: { gt: after } };
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
