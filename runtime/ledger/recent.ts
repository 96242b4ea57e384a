import { z } from 'zod';
import { positionOf } from '../documents/document-query.ts';
import type { Collection, Find } from '../documents.ts';
import { SvcError } from '../errors.ts';
import type { LedgerDelivery, LedgerReader, RecentPage } from './ledger-reader.ts';
import { unpackLines } from './packing.ts';
import { placeOfSegment } from './segment-names.ts';
import type { SegmentReader } from './segment-reader.ts';
import { type LedgerSegment, MAX_SEGMENT_MS } from './segments.ts';

type RecentWish = Parameters<LedgerReader['recent']>[1];

/** Segments that are read together, and most that one call reads before it returns a short page. */
const AT_ONCE = 16;
const MOST_SEGMENTS = 128;

/** Last delivery of a page, and the end of the newest segment that may hold older ones. */
const Token = z.object({
  at: z.number(),
  partition: z.string(),
  seq: z.number(),
  part: z.number(),
  segmentsTo: z.number(),
});
type Token = z.output<typeof Token>;

type DeliveryPosition = Pick<Token, 'at' | 'partition' | 'seq' | 'part'>;

function decode(text: string): Token {
  try {
    return Token.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  } catch (cause) {
    throw new SvcError('invalid_argument', 'after: expected the next of an earlier page', { field: 'after', cause });
  }
}

const placeOf = ({ at, partition, seq, part = -1 }: LedgerDelivery): DeliveryPosition => ({ at, partition, seq, part });

/** Newest first: negative when `a` comes before `b`. */
function compare(a: DeliveryPosition, b: DeliveryPosition): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.partition !== b.partition) return a.partition < b.partition ? 1 : -1;
  return b.seq - a.seq || b.part - a.part;
}

const isRoot = ({ message, part }: LedgerDelivery): boolean => message.cause === null && part === undefined;

/** `"cause":null` stands in every line of a delivery without a cause. */
const ROOT = '"cause":null';

/**
 * Reads a tenant's deliveries by time, newest first, segment by segment. Segments overlap in time: deliveries that are newer
 * than the end of the segments that follow are complete.
 */
export async function recentPage(reader: SegmentReader, tenant: string, wish: RecentWish): Promise<RecentPage> {
  const { limit, after, from = 0, to = Number.MAX_SAFE_INTEGER, roots = false } = wish;
  const token = after === undefined ? null : decode(after);
  const latest = token?.at ?? to;
  const scan = new Scan(reader.segments, tenant, { from, latest, upTo: token?.segmentsTo ?? latest + MAX_SEGMENT_MS });
  const fits = (one: LedgerDelivery): boolean =>
    one.at >= from && one.at <= to && (token === null || compare(token, placeOf(one)) < 0) && (!roots || isRoot(one));
  const found = new Map<string, LedgerDelivery>();
  const nextBehind = (one: LedgerDelivery): string => scan.token(placeOf(one));
  for (;;) {
    for (const segment of await scan.take()) {
      const unpacked = { text: await unpackLines(segment.lines), node: segment.node };
      for (const one of await reader.unpack(placeOfSegment(segment), unpacked, { part: roots ? ROOT : null, fits }))
        found.set(`${one.at} ${one.partition} ${one.seq} ${one.part ?? -1}`, one);
    }
    const { next } = scan;
    const complete = [...found.values()]
      .filter(({ at }) => next === null || at > next)
      .sort((a, b) => compare(placeOf(a), placeOf(b)));
    const deliveries = complete.slice(0, limit);
    const last = deliveries.at(-1);
    if (next === null && complete.length <= limit) return { deliveries, next: null, nextBehind };
    if (complete.length >= limit && last !== undefined) return { deliveries, next: nextBehind(last), nextBehind };
    // Fewer than the limit: everything newer than the next segment was read.
    if (next !== null && scan.read >= MOST_SEGMENTS && next < latest)
      return { deliveries, next: scan.token({ at: next, partition: FIRST, seq: 0, part: 0 }), nextBehind };
  }
}

/** Comes before every partition in this order. */
const FIRST = '\uffff';

/** The segments of a tenant from the newest on. */
class Scan {
  /** How many were taken. */
  read = 0;
  readonly #segments: Collection<LedgerSegment>;
  readonly #find: Find;
  readonly #ends: { readonly from: number; readonly to: number }[] = [];
  #waiting: LedgerSegment[] | null = null;
  #isAtEnd = false;

  constructor(
    segments: Collection<LedgerSegment>,
    tenant: string,
    { from, latest, upTo }: { readonly from: number; readonly latest: number; readonly upTo: number },
  ) {
    this.#segments = segments;
    this.#find = {
      tenant,
      where: { to_at: { gte: from, lte: Math.min(upTo, Number.MAX_SAFE_INTEGER) }, from_at: { lte: latest } },
      // The order of an index, so that no store sorts whole segments.
      sort: [
        ['to_at', 'desc'],
        ['bytes', 'desc'],
      ],
      limit: AT_ONCE,
    };
  }

  /** End of the next segment, Unix ms; null when there is none. */
  get next(): number | null {
    return this.#waiting?.[0]?.to_at ?? null;
  }

  /** Takes the next segments, and looks ahead for the one behind them. */
  async take(): Promise<readonly LedgerSegment[]> {
    const taken = this.#waiting ?? (await this.#page(null));
    const last = taken.at(-1);
    this.#waiting = this.#isAtEnd || last === undefined ? [] : await this.#page(last);
    this.read += taken.length;
    for (const { from_at: from, to_at: to } of taken) this.#ends.push({ from, to });
    return taken;
  }

  async #page(last: LedgerSegment | null): Promise<LedgerSegment[]> {
    const find = last === null ? this.#find : { ...this.#find, after: positionOf(this.#find, last) };
    const page = await this.#segments.find(find);
    this.#isAtEnd = page.length < AT_ONCE;
    return page;
  }

  /** Token of what follows a place. */
  token(place: DeliveryPosition): string {
    const ends = this.#ends.filter(({ from }) => from <= place.at).map(({ to }) => to);
    const token: Token = { ...place, segmentsTo: Math.max(this.next ?? 0, ...ends) };
    return Buffer.from(JSON.stringify(token)).toString('base64url');
  }
}
