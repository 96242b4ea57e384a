import { z } from 'zod';
import { type Address, type Partition, tenantOf } from '../address.ts';
import type { Collection, Documents } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import { jsonField } from '../json.ts';
import { decodeMessage } from '../turns/codec.ts';
import type { Payloads } from '../turns/payload.ts';
import { LEDGER, type LedgerSegment, packLines, unpackLines } from './ledger.ts';

/** Segments are large: so many are in memory at a time. */
const SEGMENTS = 10;
/** How far behind the end of an actor a segment that holds its rows may reach: of a quiet partition it covers long. */
const LATEST_MS = 3_600_000;

const Lines = z.array(z.tuple([z.number(), z.number(), z.number(), z.unknown(), jsonField]));

export interface Erasing {
  readonly address: Address;
  readonly partition: Partition;
  /** The actor's deliveries were appended between the two, Unix ms. */
  readonly since: number;
  readonly until: number;
}

/**
 * Takes the deliveries of one actor out of the ledger. What it told others is theirs. A segment keeps its version, so
 * that a projector that writes the same commits again does not bring them back.
 */
export async function eraseFromLedger(
  parts: { readonly documents: Documents; readonly payloads: Payloads },
  { address, partition, since, until }: Erasing,
): Promise<void> {
  const ledger: Collection<LedgerSegment> = await parts.documents.collection(LEDGER);
  const tenant = tenantOf(address);
  for (let skip = 0; ; skip += SEGMENTS) {
    const where = { partition, to_at: { gte: since, lte: until + LATEST_MS }, from_at: { lte: until } };
    const segments = await ledger.find({ tenant, where, sort: [['to_at', 'asc']], limit: SEGMENTS, skip });
    for (const segment of segments) {
      const lines = Lines.parse(JSON.parse(await unpackLines(segment.lines)));
      const kept: typeof lines = [];
      for (const line of lines) if (!(await isTo(parts.payloads, address, line[4]))) kept.push(line);
      if (kept.length === lines.length) continue;
      const packed = await packLines(JSON.stringify(kept));
      await ledger.replace({ ...segment, lines: packed, bytes: packed.length }, segment.version);
    }
    if (segments.length < SEGMENTS) return;
  }
}

/** A message that was stored aside for the actor was removed with its payloads, and belonged to nobody else. */
async function isTo(payloads: Payloads, address: Address, message: z.output<typeof jsonField>): Promise<boolean> {
  if (typeof message !== 'string') return isAddressed(message, address);
  const body = message;
  if (!body.startsWith('@')) return false;
  if (payloads.isOf(body, address)) return true;
  try {
    return (await decodeMessage(payloads, body)).to === address;
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (error.code === 'unavailable') throw error;
    return false;
  }
}

const isAddressed = (message: z.output<typeof jsonField>, address: Address): boolean =>
  message !== null && typeof message === 'object' && !Array.isArray(message) && message.to === address;
