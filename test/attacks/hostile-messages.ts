import { randomUUID } from 'node:crypto';
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { ScalarType } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A number in [0, 1), the same sequence for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const MOST_DEPTH = 4;
const KiB = 1024;
const USUAL_BYTES = 64 * KiB;
/** Over the bound of every method. */
const LARGE_BYTES = 18 * KiB * KiB;
const MANIFEST =
  'apiVersion: svc.dev/v1\nkind: Agent\nmetadata: {name: fuzzed, version: 1.0.0}\nspec: {task: {instruction: x}}\n';
const PATHS = [
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '/',
  'a/b',
  '%00',
  'http_api',
  'WORKER',
  'true',
  'fs.read',
];
const JSONS = ['{}', '[]', 'null', '{"a":1}', '{"__proto__":{"x":1}}', '{"a":1,"a":2}', '1e999', '"\\ud800"', '{'];

/** Bytes that are near a message and mostly wrong: types, sizes, repetition, nesting, unknown fields, broken text. */
export class HostileMessages {
  readonly #random: () => number;
  /** Texts that mean something to the node, such as ids. */
  readonly #known: readonly string[];
  /** Bytes that the texts of this message may still have, about. */
  #left = 0;
  /** Every field of this message has its type, and a value that may be right. */
  #isSane = false;

  constructor(random: () => number, known: readonly string[]) {
    this.#random = random;
    this.#known = known;
  }

  /** One message, as it is or damaged. */
  of(schema: DescMessage): Buffer {
    this.#left = this.chance(0.01) ? LARGE_BYTES : USUAL_BYTES;
    this.#isSane = this.chance(0.4);
    const whole = this.#message(schema, 0);
    if (this.#isSane) return whole;
    return this.#one([...Array<() => Buffer>(4).fill(() => whole), ...this.#damages(whole)])();
  }

  chance(of: number): boolean {
    return this.#random() < of;
  }

  pick<T>(from: readonly T[]): T {
    return this.#one(from);
  }

  #damages(whole: Buffer): (() => Buffer)[] {
    const unknown = (write: (writer: BinaryWriter) => BinaryWriter) =>
      Buffer.concat([whole, write(new BinaryWriter()).finish()]);
    return [
      () => whole.subarray(0, this.#below(whole.length + 1)),
      () => this.#flipped(whole),
      () => Buffer.from(Array.from({ length: this.#below(64) }, () => this.#below(256))),
      // Unknown fields of each type, the largest field number, and a reserved type.
      () => unknown((writer) => writer.tag(1_000, WireType.LengthDelimited).string('unknown')),
      () => unknown((writer) => writer.tag(536_870_911, WireType.Varint).uint32(1)),
      () => Buffer.concat([whole, Buffer.from([0x0e, 0x0f, 0x00])]),
      // A varint without an end, a length beyond the message, groups that are never closed.
      () => Buffer.concat([whole, Buffer.alloc(16, 0xff)]),
      () => Buffer.concat([whole, Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07])]),
      () => Buffer.alloc(this.#one([10, 3 * KiB, 200 * KiB]), 0x0b),
      () => Buffer.concat([Buffer.alloc(2 * KiB, 0x0b), Buffer.alloc(2 * KiB, 0x0c)]),
      // The same message many times over: the last of each field counts, lists grow.
      () => Buffer.concat(Array<Buffer>(this.#below(Math.min(50, (256 * KiB) / (whole.length + 1)))).fill(whole)),
    ];
  }

  #message(schema: DescMessage, depth: number): Buffer {
    const writer = new BinaryWriter();
    for (const field of schema.fields) {
      if (this.chance(0.2)) continue;
      const times =
        field.fieldKind === 'list' || field.fieldKind === 'map' ? this.#one(this.#isSane ? [0, 1, 2] : [1, 2, 300]) : 1;
      for (let at = 0; at < times && this.#left > 0; at += 1) this.#field(writer, field, depth);
    }
    return Buffer.from(writer.finish());
  }

  #field(writer: BinaryWriter, field: DescField, depth: number): void {
    if (!this.#isSane && this.chance(0.08)) this.#wrongType(writer, field.number);
    else if (field.fieldKind === 'map') {
      const entry = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(this.#text());
      entry.tag(2, WireType.LengthDelimited).bytes(this.#text());
      writer.tag(field.number, WireType.LengthDelimited).bytes(entry.finish());
    } else if (field.message !== undefined) {
      const inner = depth < MOST_DEPTH ? this.#message(field.message, depth + 1) : Buffer.alloc(0);
      writer.tag(field.number, WireType.LengthDelimited).bytes(inner);
    } else this.#scalar(writer, field);
  }

  #scalar(writer: BinaryWriter, { number, scalar }: DescField): void {
    if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) {
      writer.tag(number, WireType.LengthDelimited).bytes(this.#text());
    } else if (scalar === ScalarType.FLOAT) {
      writer.tag(number, WireType.Bit32).float(this.#one([0, -1, 0.5, 2, Number.NaN, Number.POSITIVE_INFINITY, 3e38]));
    } else writer.tag(number, WireType.Varint).raw(this.#varint());
  }

  #wrongType(writer: BinaryWriter, number: number): void {
    const type = this.#one([WireType.Varint, WireType.Bit32, WireType.Bit64, WireType.LengthDelimited]);
    writer.tag(number, type);
    if (type === WireType.Varint) writer.raw(this.#varint());
    else if (type === WireType.LengthDelimited) writer.bytes(this.#text());
    else writer.raw(new Uint8Array(type === WireType.Bit32 ? 4 : 8).fill(0xff));
  }

  #varint(): Uint8Array {
    const longest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    return Uint8Array.from(this.#one([[0], [1], [2], [3], [0x7f], [0xff, 0xff, 0xff, 0xff, 0x0f], longest]));
  }

  #text(): Buffer {
    if (this.#isSane)
      return Buffer.from(this.#one([...this.#known, ...this.#known, '', '{}', 'text', 'true', MANIFEST]));
    const deep = this.#one([50, 200, 5_000]);
    const makers: (() => string | Buffer)[] = [
      () => '',
      () => this.#one(['x', '0', '-1', ' ', '\0', '\n', '€🙂', '\u202e', '{{input}}', '{{#each a}}']),
      () => this.#one([randomUUID(), ...this.#known]),
      () => this.#one([randomUUID(), ...this.#known]),
      () => randomUUID(),
      () => this.#one(PATHS),
      () => this.#one(JSONS),
      () => MANIFEST,
      () => `${'['.repeat(deep)}${']'.repeat(deep)}`,
      () => `${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`,
      () => 'long'.repeat(this.#one([10, 100, 2_000, Math.max(1, Math.ceil(this.#left / 4))])),
      () => Buffer.from([0xff, 0xfe, 0xc0, 0x80]),
      () => Buffer.from([0xed, 0xa0, 0x80, 0x61]),
    ];
    const text = Buffer.from(this.#one(makers)());
    this.#left -= text.length + 8;
    return text;
  }

  #flipped(whole: Buffer): Buffer {
    const copy = Buffer.from(whole);
    for (let flips = 1 + this.#below(4); flips > 0 && copy.length > 0; flips -= 1)
      copy[this.#below(copy.length)] = this.#below(256);
    return copy;
  }

  #below(most: number): number {
    return Math.floor(this.#random() * most);
  }

  #one<T>(from: readonly T[]): T {
    const found = from[this.#below(from.length)];
    if (found === undefined) throw new Error('nothing to choose from');
    return found;
  }
}
