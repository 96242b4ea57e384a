import { createHash } from 'node:crypto';
import { z } from 'zod';
import { SvcError } from '../errors.ts';
import type { SegmentRef } from './key-pages.ts';

/** Newest round of each writer, by the short name of the writer. Writers that are not named have `floor`. */
interface Rounds {
  readonly named: ReadonlyMap<string, number>;
  readonly floor: number;
}

/**
 * The time tells deliveries of one position apart: a store that lost its last writes, or was restored, gives positions again.
 * It is null in tokens of earlier versions.
 */
export type DeliveryPosition = readonly [key: number, partition: string, seq: number, at: number | null, part: number];

export interface Position {
  readonly group: string;
  /** When the group begins, Unix ms. */
  readonly from: number;
  readonly place: DeliveryPosition;
}

/**
 * Position at which a reading continues. The first page fixes which rounds of each writer are read (`upTo`), because a delivery
 * of an earlier time may be written while the pages are read. After these rounds, the ones written since follow (`done` becomes
 * the old `upTo`).
 */
export interface Token {
  readonly done: Rounds;
  readonly upTo: Rounds;
  /** Position of the last delivery. Null: none of these rounds was read yet. */
  readonly last: Position | null;
}

/**
 * Most writers that a token names, those that wrote last. For all others it has their newest round: rounds are numbered by the
 * clock, so their later rounds have higher numbers.
 */
const MOST_WRITERS = 250;

const NAME_BYTES = 6;

/** Short name of a writer in tokens: names of nodes are long, and a token fits into a URL. */
function shortOf(writer: string): string {
  const known = shorts.get(writer);
  if (known !== undefined) return known;
  const short = createHash('sha256')
    .update(writer)
    .digest('hex')
    .slice(0, 2 * NAME_BYTES);
  if (shorts.size >= MOST_SHORTS) shorts.clear();
  shorts.set(writer, short);
  return short;
}

const shorts = new Map<string, string>();
const MOST_SHORTS = 10_000;

const NONE: Rounds = { named: new Map(), floor: 0 };

const roundOf = ({ named, floor }: Rounds, writer: string): number => named.get(shortOf(writer)) ?? floor;

/** Whether a segment was read before the rounds of the token. */
export function isDone({ done }: Token, { writer, round }: SegmentRef): boolean {
  return round <= roundOf(done, writer);
}

/** Whether a segment was written after the rounds of the token. */
export function isLater({ upTo }: Token, { writer, round }: SegmentRef): boolean {
  return round > roundOf(upTo, writer);
}

export const firstToken = (segments: readonly SegmentRef[]): Token => ({
  done: NONE,
  upTo: { named: newest(segments), floor: 0 },
  last: null,
});

/** The token that reads what was written since `token`, when all of `token` was read. */
export const tokenOfLater = ({ upTo }: Token, later: readonly SegmentRef[]): Token => ({
  done: upTo,
  upTo: { named: new Map([...upTo.named, ...newest(later)]), floor: upTo.floor },
  last: null,
});

/** Whether the segments hold all rounds that a token names: the reader of another node may know more. */
export function knowsAll(segments: readonly SegmentRef[], after: string | undefined): boolean {
  if (after === undefined) return true;
  const known = newest(segments);
  return [...decodeToken(after).upTo.named].every(([writer, round]) => (known.get(writer) ?? 0) >= round);
}

function newest(segments: readonly SegmentRef[]): Map<string, number> {
  const rounds = new Map<string, number>();
  for (const { writer, round } of segments) {
    const short = shortOf(writer);
    rounds.set(short, Math.max(rounds.get(short) ?? 0, round));
  }
  return rounds;
}

/** Earlier versions neither write nor read `at`, which therefore is not in `place`: pages are read by nodes of both. */
const Last = z
  .object({
    group: z.string(),
    from: z.number(),
    place: z.tuple([z.number(), z.string(), z.number(), z.number()]),
    at: z.number().optional(),
  })
  .nullable();

function wireOf({ group, from, place: [key, partition, seq, at, part] }: Position): z.output<typeof Last> {
  return { group, from, place: [key, partition, seq, part], ...(at === null ? {} : { at }) };
}

function positionOf(last: z.output<typeof Last>): Position | null {
  if (last === null) return null;
  const [key, partition, seq, part] = last.place;
  return { group: last.group, from: last.from, place: [key, partition, seq, last.at ?? null, part] };
}

/** `w`: for each writer its short name, its round in `upTo`, and how far back that in `done` is. `f`: the floors. */
const Wire = z.object({ w: z.string(), f: z.tuple([z.number(), z.number()]), last: Last });

/** Tokens of earlier versions name writers in full. */
const OldRounds = z.record(z.string(), z.number());
const OldWire = z.object({ done: OldRounds, upTo: OldRounds, last: Last });

export function encodeToken({ done, upTo, last }: Token): string {
  const rows = [...upTo.named].map(([writer, round]) => ({
    writer,
    round,
    read: done.named.get(writer) ?? done.floor,
  }));
  // Writers of which some rounds are read and some are not are always named: a floor says nothing about them.
  const isPart = ({ round, read }: (typeof rows)[number]): boolean => read > 0 && read < round;
  rows.sort((a, b) => Number(isPart(b)) - Number(isPart(a)) || b.round - a.round);
  const others = rows.slice(MOST_WRITERS);
  const floors = [
    Math.max(upTo.floor, ...others.map(({ round }) => round)),
    Math.max(done.floor, ...others.map(({ read }) => read)),
  ];
  const bytes = rows.slice(0, MOST_WRITERS).map(({ writer, round, read }) => {
    return Buffer.concat([
      Buffer.from(writer, 'hex'),
      numberBytes(round),
      numberBytes(read === 0 ? 0 : round - read + 1),
    ]);
  });
  const wire = { w: Buffer.concat(bytes).toString('base64url'), f: floors, last: last && wireOf(last) };
  return Buffer.from(JSON.stringify(wire)).toString('base64url');
}

export function decodeToken(text: string): Token {
  try {
    const json: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    const old = OldWire.safeParse(json);
    if (old.success) {
      const { done, upTo, last } = old.data;
      return { done: shortened(done), upTo: shortened(upTo), last: positionOf(last) };
    }
    const { w, f, last } = Wire.parse(json);
    return { ...roundsOf(Buffer.from(w, 'base64url'), f), last: positionOf(last) };
  } catch (cause) {
    throw new SvcError('invalid_argument', 'after: expected the next of an earlier page', { field: 'after', cause });
  }
}

const shortened = (rounds: Readonly<Record<string, number>>): Rounds => ({
  named: new Map(Object.entries(rounds).map(([writer, round]) => [shortOf(writer), round])),
  floor: 0,
});

function roundsOf(bytes: Buffer, [upToFloor, doneFloor]: readonly [number, number]): Pick<Token, 'done' | 'upTo'> {
  const [upTo, done] = [new Map<string, number>(), new Map<string, number>()];
  for (let at = 0; at < bytes.length; ) {
    const writer = bytes.toString('hex', at, at + NAME_BYTES);
    const round = readNumber(bytes, at + NAME_BYTES);
    const back = readNumber(bytes, round.end);
    upTo.set(writer, round.value);
    done.set(writer, back.value === 0 ? 0 : round.value - back.value + 1);
    at = back.end;
  }
  return { upTo: { named: upTo, floor: upToFloor }, done: { named: done, floor: doneFloor } };
}

/** A whole number in groups of seven bits, the lowest first. */
function numberBytes(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 128);
  }
}

function readNumber(bytes: Buffer, from: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = from, unit = 1; ; at += 1, unit *= 128) {
    const byte = bytes[at];
    if (byte === undefined || unit > Number.MAX_SAFE_INTEGER) throw new RangeError('a number has no end');
    value += (byte & 127) * unit;
    if (byte < 128) return { value, end: at + 1 };
  }
}
