import { z } from 'zod';
import { packLines, unpackLines } from './packing.ts';

/** A segment as the keys name it, with all that is needed to decide whether it must be read. */
export interface SegmentRef {
  readonly tenant: string;
  readonly id: string;
  readonly last: number;
  /** Unix ms. */
  readonly from: number;
  readonly to: number;
  /** The node that wrote the segment, and its round: rounds of a writer grow, and a later one is never seen earlier. */
  readonly writer: string;
  readonly round: number;
}

/** A decoded page: `hashes[n]` is in the segment with the number `ordinals[n]`. Sorted by hash, then by number. */
export interface KeyPage {
  readonly hashes: Float64Array;
  readonly ordinals: Uint32Array;
}

/**
 * Bytes of a page before base64. A look-up decodes a page of each run, so larger pages make garbage; smaller ones make
 * more documents and longer heads.
 */
const PAGE_BYTES = 8_192;
/** An entry takes at most 6 bytes of hash and 5 of number. */
const ENTRY_BYTES = 11;

/**
 * Encodes sorted keys as pages. An entry is the difference to the hash before it and the number of a segment, both with
 * 7 bits a byte, so that it takes 5 or 6 bytes.
 */
export class KeyPages {
  /** Complete pages, in base64. */
  full: string[] = [];
  /** First hash of each page, those that were taken from `full` included. */
  readonly fences: number[] = [];
  /** Number of entries. */
  count = 0;
  readonly #bytes = Buffer.allocUnsafe(PAGE_BYTES);
  #end = 0;
  #hash = 0;

  add(hash: number, ordinal: number): void {
    if (this.#end + ENTRY_BYTES > PAGE_BYTES) this.finish();
    if (this.#end === 0) {
      this.fences.push(hash);
      this.#hash = 0;
    }
    this.#end = writeNumber(this.#bytes, writeNumber(this.#bytes, this.#end, hash - this.#hash), ordinal);
    this.#hash = hash;
    this.count += 1;
  }

  /** Adds pages that are complete. */
  take({ full, fences, count }: Pick<KeyPages, 'full' | 'fences' | 'count'>): void {
    this.finish();
    this.full.push(...full);
    this.fences.push(...fences);
    this.count += count;
  }

  /** Completes the last page. */
  finish(): void {
    if (this.#end > 0) this.full.push(this.#bytes.toString('base64', 0, this.#end));
    this.#end = 0;
  }
}

/** Writes a whole number with 7 bits a byte. Returns where it ends. */
function writeNumber(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  while (rest >= 0x80000000) {
    bytes[at++] = (rest % 128) | 128;
    rest = Math.floor(rest / 128);
  }
  while (rest >= 128) {
    bytes[at++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  return at;
}

/** Where pages are decoded before their length is known. */
let scratch: KeyPage = { hashes: new Float64Array(0), ordinals: new Uint32Array(0) };

export function decodeKeys(text: string): KeyPage {
  const bytes = Buffer.from(text, 'base64');
  // An entry is two values, each at least a byte.
  const most = bytes.length >> 1;
  if (scratch.hashes.length < most) scratch = { hashes: new Float64Array(most), ordinals: new Uint32Array(most) };
  const { hashes, ordinals } = scratch;
  let [count, hash, at] = [0, 0, 0];
  while (at < bytes.length) {
    let end = at;
    while ((bytes[end] ?? 0) > 127) end += 1;
    hash += numberIn(bytes, at, end);
    hashes[count] = hash;
    for (at = end + 1, end = at; (bytes[end] ?? 0) > 127; ) end += 1;
    ordinals[count] = numberIn(bytes, at, end);
    at = end + 1;
    count += 1;
  }
  return { hashes: hashes.slice(0, count), ordinals: ordinals.slice(0, count) };
}

/** The number whose lowest 7 bits are at `from` and whose highest ones are at `last`. */
function numberIn(bytes: Uint8Array, from: number, last: number): number {
  let value = bytes[last] ?? 0;
  // Up to four bytes are a small integer.
  if (last - from < 4) {
    for (let at = last - 1; at >= from; at -= 1) value = (value << 7) | ((bytes[at] ?? 0) & 127);
    return value;
  }
  for (let at = last - 1; at >= from; at -= 1) value = value * 128 + ((bytes[at] ?? 0) & 127);
  return value;
}

/** Position of the first value that is not below `value`. */
export function lowerBound(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Segments of a page of names. */
export const NAMES = 512;

const Names = z.array(z.tuple([z.string(), z.string(), z.number(), z.number(), z.number(), z.string(), z.number()]));

export const encodeNames = (segments: readonly SegmentRef[]): Promise<string> =>
  packLines(
    JSON.stringify(segments.map((one) => [one.tenant, one.id, one.last, one.from, one.to, one.writer, one.round])),
  );

export async function decodeNames(text: string): Promise<SegmentRef[]> {
  const rows = Names.parse(JSON.parse(await unpackLines(text)));
  return rows.map(([tenant, id, last, from, to, writer, round]) => ({ tenant, id, last, from, to, writer, round }));
}
