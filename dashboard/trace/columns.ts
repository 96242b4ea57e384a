type Numbers = Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array;

/** A long list of numbers in a typed array that doubles when it is full. */
export class Column<Values extends Numbers> {
  readonly #make: (length: number) => Values;
  #values: Values;
  length = 0;

  constructor(make: (length: number) => Values) {
    this.#make = make;
    this.#values = make(1_024);
  }

  at(index: number): number {
    return this.#values[index] ?? 0;
  }

  set(index: number, value: number): void {
    this.#values[index] = value;
  }

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = this.#make(this.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length] = value;
    this.length += 1;
  }
}

export const float64 = (): Column<Float64Array> => new Column((length) => new Float64Array(length));
export const float32 = (): Column<Float32Array> => new Column((length) => new Float32Array(length));
export const int32 = (): Column<Int32Array> => new Column((length) => new Int32Array(length));
export const uint8 = (): Column<Uint8Array> => new Column((length) => new Uint8Array(length));

/** Texts in one byte array: text `n` ends at `ends[n]`. */
export interface PackedTexts {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly ends: Uint32Array<ArrayBuffer>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function packTexts(texts: readonly string[]): PackedTexts {
  const ends = new Uint32Array(texts.length);
  let bytes = new Uint8Array(Math.max(64, texts.length * 40));
  let length = 0;
  for (const [index, text] of texts.entries()) {
    if (bytes.length - length < text.length * 3) {
      const larger = new Uint8Array(bytes.length * 2 + text.length * 3);
      larger.set(bytes);
      bytes = larger;
    }
    length += encoder.encodeInto(text, bytes.subarray(length)).written;
    ends[index] = length;
  }
  return { bytes: bytes.slice(0, length), ends };
}

/** Bytes of text `index`. */
export function bytesAt({ bytes, ends }: PackedTexts, index: number): Uint8Array {
  return bytes.subarray(index === 0 ? 0 : (ends[index - 1] ?? 0), ends[index] ?? 0);
}

/** Different ids in the order of their arrival, each found by its text: bytes and a hash table, no string per id. */
export class Ids {
  #bytes = new Uint8Array(64 * 1_024);
  #used = 0;
  readonly #ends = int32();
  #table = new Int32Array(4_096).fill(-1);

  get length(): number {
    return this.#ends.length;
  }

  text(id: number): string {
    return decoder.decode(this.#bytesOf(id));
  }

  /** The number of an id; -1 when it is not known. */
  find(bytes: Uint8Array): number {
    return this.#table[this.#slotOf(bytes)] ?? -1;
  }

  findText(text: string): number {
    return this.find(encoder.encode(text));
  }

  /** The number of an id, which is new when it equals `length` before the call. */
  add(bytes: Uint8Array): number {
    const slot = this.#slotOf(bytes);
    const known = this.#table[slot] ?? -1;
    if (known !== -1) return known;
    this.#append(bytes);
    const id = this.#ends.length - 1;
    this.#table[slot] = id;
    if (this.#ends.length * 2 > this.#table.length) this.#rehash();
    return id;
  }

  /** Numbers of the ids that hold a text. */
  *holding(text: string): Generator<number> {
    const wanted = encoder.encode(text);
    const [first] = wanted;
    if (first === undefined) return;
    for (let id = 0; id < this.length; id += 1) {
      const bytes = this.#bytesOf(id);
      for (let at = bytes.indexOf(first); at !== -1; at = bytes.indexOf(first, at + 1)) {
        if (!isSame(bytes.subarray(at, at + wanted.length), wanted)) continue;
        yield id;
        break;
      }
    }
  }

  #bytesOf(id: number): Uint8Array {
    return this.#bytes.subarray(id === 0 ? 0 : this.#ends.at(id - 1), this.#ends.at(id));
  }

  #append(bytes: Uint8Array): void {
    if (this.#used + bytes.length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#used + bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#used);
    this.#used += bytes.length;
    this.#ends.push(this.#used);
  }

  /** Index of the id in the table, or of the free slot for it. */
  #slotOf(bytes: Uint8Array): number {
    const mask = this.#table.length - 1;
    let slot = hashOf(bytes) & mask;
    for (;;) {
      const id = this.#table[slot] ?? -1;
      if (id === -1 || isSame(this.#bytesOf(id), bytes)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #rehash(): void {
    this.#table = new Int32Array(this.#table.length * 2).fill(-1);
    for (let id = 0; id < this.length; id += 1) this.#table[this.#slotOf(this.#bytesOf(id))] = id;
  }
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash ^ (hash >>> 15);
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) if (left[index] !== right[index]) return false;
  return true;
}
