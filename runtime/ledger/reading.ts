import { SvcError } from '../errors.ts';
import type { SegmentRef } from './key-pages.ts';
import type { LedgerDelivery } from './ledger-reader.ts';
import {
  type DeliveryPosition,
  decodeToken,
  encodeToken,
  firstToken,
  isDone,
  isLater,
  type Position,
  type Token,
  tokenOfLater,
} from './page-token.ts';
import { groupOf, placeOfSegment } from './segment-names.ts';
import type { SegmentReader, Wanted } from './segment-reader.ts';

/** An order of deliveries that a reading follows, and the bounds of a segment in it. */
export interface ReadingOrder {
  /** Groups follow one another; inside a group deliveries are ordered by `keyOf`, then partition, seq, time and part. */
  groupOf(segment: SegmentRef): string;
  keyOf(delivery: LedgerDelivery): number;
  lowest(segment: SegmentRef): number;
  highest(segment: SegmentRef): number;
}

/** By time. */
export const BY_TIME: ReadingOrder = {
  groupOf: () => '',
  keyOf: ({ at }) => at,
  lowest: ({ from }) => from,
  highest: ({ to }) => to,
};

/**
 * By position in the log; one partition after the other. An actor has one partition of a group, whose positions grow over
 * all logs that the partition has.
 */
export const BY_POSITION: ReadingOrder = {
  groupOf: (segment) => placeOfSegment(segment).group,
  keyOf: ({ seq }) => seq,
  lowest: (segment) => placeOfSegment(segment).first,
  highest: ({ last }) => last,
};

/** Deliveries of some segments, read page by page. */
interface ReadingWish {
  readonly tenant: string;
  readonly wanted: Wanted;
  readonly order: ReadingOrder;
  readonly limit: number;
  readonly after?: string | undefined;
  readonly newestFirst?: boolean | undefined;
}

/** Throws `invalid_argument` for a limit or a token that cannot be. */
export function checkWish({ limit, after }: Pick<ReadingWish, 'limit' | 'after'>): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LIMIT) {
    throw new SvcError('invalid_argument', `limit must be a whole number from 1 to ${MOST_LIMIT}`, { field: 'limit' });
  }
  if (after !== undefined) decodeToken(after);
}

const MOST_LIMIT = 1_000;

/** Reads one page. `segments` are all segments with the wanted deliveries. */
export async function readPage(
  reader: Pick<SegmentReader, 'read'>,
  segments: readonly SegmentRef[],
  wish: ReadingWish,
): Promise<{ readonly deliveries: readonly LedgerDelivery[]; readonly next: string | null }> {
  let token = wish.after === undefined ? firstToken(segments) : decodeToken(wish.after);
  const deliveries: LedgerDelivery[] = [];
  for (;;) {
    const room = wish.limit - deliveries.length;
    const found = await readRounds(reader, segments, wish, token, room + 1);
    for (const { delivery } of found.slice(0, room)) deliveries.push(delivery);
    if (found.length > room) {
      const last = found[room - 1];
      return { deliveries, next: encodeToken(last === undefined ? token : { ...token, last: last.position }) };
    }
    const later = segments.filter((one) => isLater(token, one));
    // In a reading from the newest backwards, later deliveries lie before the first page.
    if (later.length === 0 || wish.newestFirst === true) return { deliveries, next: null };
    token = tokenOfLater(token, later);
  }
}

interface Found {
  readonly delivery: LedgerDelivery;
  readonly position: Position;
}

/** Segments whose deliveries follow one order. */
interface Group {
  readonly name: string;
  readonly from: number;
  readonly segments: readonly SegmentRef[];
}

/** Reads up to `most` deliveries of the rounds of a token behind its position. */
async function readRounds(
  reader: Pick<SegmentReader, 'read'>,
  segments: readonly SegmentRef[],
  wish: ReadingWish,
  token: Token,
  most: number,
): Promise<Found[]> {
  const sign = wish.newestFirst === true ? -1 : 1;
  const { last } = token;
  const earlier = segments.filter((one) => isDone(token, one));
  const wanted = segments.filter((one) => !isDone(token, one) && !isLater(token, one));
  const groups = [...Map.groupBy(wanted, wish.order.groupOf)]
    .map(([name, some]): Group => ({ name, segments: some, from: Math.min(...some.map(({ from }) => from)) }))
    .sort((a, b) => sign * compare([a.from, a.name], [b.from, b.name]));
  const found: Found[] = [];
  for (const group of groups) {
    // Compared by name first: a group begins later when retention removes its oldest segments.
    const isLast = last !== null && last.group === group.name;
    const side = last === null || isLast ? 0 : sign * compare([group.from, group.name], [last.from, last.group]);
    if (side < 0) continue;
    const behind = isLast ? last.place : null;
    for await (const { delivery, place } of inOrder(reader, group.segments, wish, behind)) {
      if (await isIn(reader, earlier, wish, delivery)) continue;
      found.push({ delivery, position: { from: group.from, group: group.name, place } });
      if (found.length === most) return found;
    }
  }
  return found;
}

interface PositionedDelivery {
  readonly delivery: LedgerDelivery;
  readonly place: DeliveryPosition;
}

/**
 * Yields the deliveries of some segments in order, behind a position. Segments are read some at a time: the deliveries before
 * the first one of the segments that follow are complete.
 */
async function* inOrder(
  reader: Pick<SegmentReader, 'read'>,
  segments: readonly SegmentRef[],
  { tenant, wanted, order, newestFirst = false }: ReadingWish,
  behind: DeliveryPosition | null,
): AsyncGenerator<PositionedDelivery> {
  const sign = newestFirst ? -1 : 1;
  const begin = (one: SegmentRef): number => (newestFirst ? order.highest(one) : order.lowest(one));
  const end = (one: SegmentRef): number => (newestFirst ? order.lowest(one) : order.highest(one));
  const left = segments
    .filter((one) => behind === null || sign * (end(one) - behind[0]) >= 0)
    .sort((a, b) => sign * (begin(a) - begin(b)));
  const seen = new Set<string>();
  let waiting: PositionedDelivery[] = [];
  for (let at = 0; at < left.length; at += SEGMENTS_AT_ONCE) {
    for (const delivery of await reader.read(tenant, left.slice(at, at + SEGMENTS_AT_ONCE), wanted)) {
      const place = placeOf(order, delivery);
      if (behind !== null && sign * compare(place, behind) <= 0) continue;
      const name = place.slice(1).join(' ');
      if (seen.has(name)) continue;
      seen.add(name);
      waiting.push({ delivery, place });
    }
    waiting.sort((a, b) => sign * compare(a.place, b.place));
    const next = left[at + SEGMENTS_AT_ONCE];
    const first = next === undefined ? -1 : waiting.findIndex(({ place }) => sign * (place[0] - begin(next)) >= 0);
    const complete = first < 0 ? waiting.length : first;
    yield* waiting.slice(0, complete);
    waiting = waiting.slice(complete);
  }
}

const SEGMENTS_AT_ONCE = 16;

const placeOf = (order: ReadingOrder, one: LedgerDelivery): DeliveryPosition => [
  order.keyOf(one),
  one.partition,
  one.seq,
  one.at,
  one.part ?? -1,
];

/** Whether one of these segments holds a delivery: after a crash it may have been written again in a later round. */
async function isIn(
  reader: Pick<SegmentReader, 'read'>,
  segments: readonly SegmentRef[],
  { tenant, wanted }: ReadingWish,
  { partition, seq, part, at }: LedgerDelivery,
): Promise<boolean> {
  const { group } = groupOf(partition);
  const overlapping = segments.filter((one) => {
    if (seq > one.last) return false;
    const place = placeOfSegment(one);
    return seq >= place.first && place.group === group && (place.partition ?? partition) === partition;
  });
  if (overlapping.length === 0) return false;
  const there = await reader.read(tenant, overlapping, wanted);
  return there.some((one) => one.partition === partition && one.seq === seq && one.part === part && one.at === at);
}

/** Compares tuples of equal types: numbers by size, texts by their characters. What `b` does not know counts as equal. */
function compare(a: readonly (number | string | null)[], b: readonly (number | string | null)[]): number {
  for (const [at, one] of a.entries()) {
    const other = b[at] ?? one;
    if (one !== null && other !== null && one !== other) return one < other ? -1 : 1;
  }
  return 0;
}

/** All wanted deliveries of some segments, by time. */
export async function readAll(
  reader: Pick<SegmentReader, 'read'>,
  segments: readonly SegmentRef[],
  { tenant, wanted }: Pick<ReadingWish, 'tenant' | 'wanted'>,
): Promise<LedgerDelivery[]> {
  const found: LedgerDelivery[] = [];
  const wish = { tenant, wanted, order: BY_TIME, limit: MOST_LIMIT };
  for await (const { delivery } of inOrder(reader, segments, wish, null)) {
    found.push(delivery);
    if (found.length === MOST_FOUND) break;
  }
  return found;
}

/** Most deliveries of a look-up without pages. */
const MOST_FOUND = 10_000;
