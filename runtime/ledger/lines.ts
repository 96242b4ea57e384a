import { z } from 'zod';
import { SvcError } from '../errors.ts';
import { type Json, jsonField } from '../json.ts';
import type { Message } from '../message.ts';
import { turnRow } from '../projection/views.ts';
import type { DrainedTurn, TurnRow } from '../turns/actor-draft.ts';
import { isMessage } from '../turns/codec.ts';
import { decodeEntry } from '../turns/loading.ts';
import type { Payloads } from '../turns/payload.ts';
import { type Envelope, effectOf } from './keys.ts';
import type { LedgerDelivery } from './ledger-reader.ts';
import { partitionOfLine, type SegmentPlace } from './segment-names.ts';

/**
 * Text of the lines of a segment: a JSON array with a line break behind each comma. JSON text has no line break inside,
 * so a reader finds single lines without parsing the others.
 */
export const textOfLines = (lines: readonly string[]): string => `[${lines.join(',\n')}]`;

const Row = turnRow.extend({ envelope: z.custom<Envelope>((value) => typeof value === 'object').optional() });
const Line = z.tuple([z.number(), z.number(), z.number().int(), Row.nullable(), jsonField]).rest(z.number());
type Line = z.output<typeof Line>;

/** A line of JSON that was parsed. Nodes wrote it, so only its outer shape is checked; the schema explains a failure. */
function lineIn(parsed: unknown): Line {
  return isLine(parsed) ? parsed : Line.parse(parsed);
}

function isLine(parsed: unknown): parsed is Line {
  if (!Array.isArray(parsed) || parsed.length < 5 || parsed.length > 6) return false;
  const [seq, at, epoch, row, recorded, partition = 0]: readonly unknown[] = parsed;
  return (
    [seq, at, epoch, partition].every((one) => typeof one === 'number') && isShortRow(row) && recorded !== undefined
  );
}

/** A turn without what only retries and messages in Blobs have. */
const isShortRow = (row: unknown): boolean =>
  row === null ||
  (typeof row === 'object' &&
    'outcome' in row &&
    typeof row.outcome === 'string' &&
    'now' in row &&
    typeof row.now === 'number' &&
    'waitMs' in row &&
    typeof row.waitMs === 'number' &&
    'turnUs' in row &&
    typeof row.turnUs === 'number' &&
    !('drained' in row) &&
    !('envelope' in row));

/**
 * The lines of a segment, or only those that contain `part`. Text of earlier versions has no line breaks: all its lines
 * are returned.
 */
export function linesOf(text: string, part: string | null): Line[] {
  if (part === null || !text.includes('\n')) return z.array(z.unknown()).parse(JSON.parse(text)).map(lineIn);
  const lines: Line[] = [];
  for (let at = text.indexOf(part); at >= 0; ) {
    const from = text.lastIndexOf('\n', at) + 1;
    const end = text.indexOf('\n', at);
    const line = text.slice(from === 0 ? 1 : from, end < 0 ? text.length - 1 : end - 1);
    lines.push(lineIn(JSON.parse(line)));
    if (end < 0) break;
    at = text.indexOf(part, end);
  }
  return lines;
}

/**
 * The deliveries of a line of a segment: that of the mailbox, and behind it the turns of a retry. A message that cannot
 * be read any more, because it was removed with its actor, is missing.
 */
export async function deliveriesOf(
  payloads: Payloads,
  { place, node = null }: { readonly place: SegmentPlace; readonly node?: string | null | undefined },
  [seq, at, epoch, row, recorded, number]: Line,
): Promise<LedgerDelivery[]> {
  const partition = partitionOfLine(place, number);
  const body = typeof recorded === 'string' ? recorded : JSON.stringify(recorded);
  const message =
    row?.envelope === undefined ? await messageOf(payloads, recorded, body) : withoutPayload(row.envelope);
  if (message instanceof SvcError) return [];
  const effect = row?.envelope?.effect ?? effectOf(message);
  const own = { partition, seq, at, epoch, node, row: row === null ? null : turnOf(row), body, message, effect };
  if (row?.drained === undefined) return [own];
  const drained: LedgerDelivery[] = [];
  for (const [part, turn] of row.drained.entries()) {
    const handled = await decodeEntry(payloads, turn.body);
    if (handled instanceof SvcError) continue;
    const ofTurn = { row: turnOf(row, turn), body: turn.body, message: handled, effect: effectOf(handled) };
    drained.push({ ...own, part, ...ofTurn });
  }
  return [own, ...drained];
}

/** A message in a line was parsed with it. */
const messageOf = (payloads: Payloads, recorded: Json, body: string): ReturnType<typeof decodeEntry> =>
  isMessage(recorded) ? recorded : decodeEntry(payloads, body);

function withoutPayload({ effect: _, ...envelope }: Envelope): Message {
  return { ...envelope, payload: null };
}

function turnOf(row: z.output<typeof Row>, one?: DrainedTurn): TurnRow {
  const { outcome, now, waitMs, turnUs, error, digest, drained } = row;
  if (one === undefined) return { outcome, now, waitMs, turnUs, error, digest, drained };
  const { error: failed, attempt, digest: decided } = one;
  return { outcome: one.outcome, now, waitMs, turnUs: one.turnUs ?? 0, error: failed, attempt, digest: decided };
}
