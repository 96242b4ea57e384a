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

export function decodeKeys(text: string): KeyPage {
  const bytes = Buffer.from(text, 'base64');
  let ends = 0;
  for (const byte of bytes) if (byte < 128) ends += 1;
  // The last byte of a value is below 128, and an entry is two values.
  const hashes = new Float64Array(ends >> 1);
  const ordinals = new Uint32Array(ends >> 1);
  let [count, hash, at] = [0, 0, 0];
  const next = (): number => {
    let byte = bytes[at++] ?? 0;
    if (byte < 128) return byte;
    let value = byte & 127;
    let scale = 128;
    while (byte >= 128) {
      byte = bytes[at++] ?? 0;
      value += (byte & 127) * scale;
      scale *= 128;
    }
    return value;
  };
  while (at < bytes.length) {
    hash += next();
    hashes[count] = hash;
    ordinals[count] = next();
    count += 1;
  }
  return { hashes, ordinals };
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
