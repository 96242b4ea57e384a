import { z } from 'zod';
import type { Address, Partition } from '../address.ts';
import type { Collection, Documents } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import { isJsonObject, jsonField } from '../json.ts';
import { hashOf } from '../ledger/key-hash.ts';
import type { KeyRuns } from '../ledger/key-runs.ts';
import { textOfLines } from '../ledger/lines.ts';
import { packLines, unpackLines } from '../ledger/packing.ts';
import { LEDGER, type LedgerSegment } from '../ledger/segments.ts';
import { decodeMessage } from '../turns/codec.ts';
import type { Payloads } from '../turns/payload.ts';

/** Most segments in memory at a time, because they are large. */
const SEGMENTS = 10;

/**
 * How far behind the end of an actor a segment with its rows may reach. A segment of a quiet partition covers a long
 * time.
 */
const LATEST_MS = 3_600_000;

const Lines = z.array(z.tuple([z.number(), z.number(), z.number(), z.unknown(), jsonField]).rest(z.number()));

interface ErasingParts {
  readonly documents: Documents;
  readonly payloads: Payloads;
  readonly keys: Pick<KeyRuns, 'find'>;
}

interface Erasing {
  readonly tenant: string;
  readonly addresses: ReadonlySet<Address>;
  readonly partitions: readonly Partition[];
  /** The actors' deliveries were appended between the two times, Unix ms. */
  readonly since: number;
  readonly until: number;
}

/**
 * Removes the deliveries of actors of one tenant from the ledger. Messages that they sent belong to their receivers and
 * stay. Keys name the segments. Earlier programs wrote segments of single partitions without keys, which name no node:
 * those are found by time.
 */
export async function eraseFromLedger(
  { documents, payloads, keys }: ErasingParts,
  { tenant, addresses, partitions, since, until }: Erasing,
): Promise<void> {
  const ledger: Collection<LedgerSegment> = await documents.collection(LEDGER);
  const refs = await Promise.all([...addresses].map((one) => keys.find(tenant, hashOf('actor', tenant, one))));
  const named = [...new Set(refs.flat().map(({ id }) => id))];
  for (let at = 0; at < named.length; at += SEGMENTS) {
    const where = { id: { in: named.slice(at, at + SEGMENTS) } };
    await eraseFrom(ledger, await ledger.find({ tenant, where, limit: SEGMENTS }), payloads, addresses);
  }
  for (let skip = 0; ; skip += SEGMENTS) {
    const times = { to_at: { gte: since, lte: until + LATEST_MS }, from_at: { lte: until } };
    const where = { partition: { in: partitions }, node: null, ...times };
    const segments = await ledger.find({ tenant, where, sort: [['to_at', 'asc']], limit: SEGMENTS, skip });
    await eraseFrom(ledger, segments, payloads, addresses);
    if (segments.length < SEGMENTS) return;
  }
}

/**
 * Removes the deliveries of actors from segments. A segment keeps its version, so that a projector that writes the same
 * commits again does not bring the deliveries back.
 */
async function eraseFrom(
  ledger: Collection<LedgerSegment>,
  segments: readonly LedgerSegment[],
  payloads: Payloads,
  addresses: ReadonlySet<Address>,
): Promise<void> {
  for (const segment of segments) {
    const lines = Lines.parse(JSON.parse(await unpackLines(segment.lines)));
    const kept: typeof lines = [];
    for (const line of lines) if (!(await isTo(payloads, addresses, line[4]))) kept.push(line);
    if (kept.length === lines.length) continue;
    const packed = await packLines(textOfLines(kept.map((line) => JSON.stringify(line))));
    await ledger.replace({ ...segment, lines: packed, bytes: packed.length }, segment.version);
  }
}

/** Whether a message was for one of the actors. One that was stored in Blobs for an actor was removed with its payloads. */
async function isTo(
  payloads: Payloads,
  addresses: ReadonlySet<Address>,
  message: z.output<typeof jsonField>,
): Promise<boolean> {
  if (typeof message !== 'string') return isAddressed(message, addresses);
  const body = message;
  if (!body.startsWith('@')) return false;
  for (const address of addresses) if (payloads.isOf(body, address)) return true;
  try {
    return addresses.has((await decodeMessage(payloads, body)).to);
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (error.code === 'unavailable') throw error;
    return false;
  }
}

const isAddressed = (message: z.output<typeof jsonField>, addresses: ReadonlySet<string>): boolean =>
  isJsonObject(message) && typeof message.to === 'string' && addresses.has(message.to);
