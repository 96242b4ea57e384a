/** Bytes of the smallest and of the largest memory that is used again. */
const SMALLEST = 1_024;
const LARGEST = 524_288;
/** Pieces of memory of each size that are kept. */
const MOST_FREE = 32;
/** Most bytes of a line besides its turn and message: four numbers and the separators. */
const MOST_AROUND = 128;

const COMMA = ','.charCodeAt(0);
const OPEN = '['.charCodeAt(0);
const CLOSE = ']'.charCodeAt(0);
const LINE_BREAK = '\n'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);

/** Memory for lines, used again and again. */
export class LineMemory {
  readonly #free = new Map<number, Buffer[]>();

  take(least: number): Buffer {
    let size = SMALLEST;
    while (size < least) size *= 2;
    return this.#free.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size);
  }

  give(bytes: Buffer): void {
    if (bytes.length > LARGEST) return;
    const same = this.#free.get(bytes.length);
    if (same === undefined) this.#free.set(bytes.length, [bytes]);
    else if (same.length < MOST_FREE) same.push(bytes);
  }
}

/**
 * The lines of a segment while they are collected: a JSON array with a line break behind each comma. JSON text has no line
 * break inside, so a reader finds single lines without parsing the others.
 */
export class LineBytes {
  readonly #memory: LineMemory;
  #bytes: Buffer;
  #end = 0;

  constructor(memory: LineMemory) {
    this.#memory = memory;
    this.#bytes = memory.take(SMALLEST);
  }

  get length(): number {
    return this.#end;
  }

  /** Begins the line of a delivery with its numbers. */
  begin(seq: number, at: number, epoch: number): void {
    this.#makeRoom(MOST_AROUND);
    this.#byte(this.#end === 0 ? OPEN : COMMA);
    if (this.#end > 1) this.#byte(LINE_BREAK);
    this.#byte(OPEN);
    this.#number(seq);
    this.#byte(COMMA);
    this.#number(at);
    this.#byte(COMMA);
    this.#number(epoch);
  }

  /** Adds JSON to the line. */
  add(bytes: Buffer, from: number, to: number): void {
    this.#makeRoom(to - from + MOST_AROUND);
    this.#byte(COMMA);
    bytes.copy(this.#bytes, this.#end, from, to);
    this.#end += to - from;
  }

  /** Ends the line, in a segment of a group with the number of the partition. */
  end(partition: number | null): void {
    if (partition !== null) {
      this.#byte(COMMA);
      this.#number(partition);
    }
    this.#byte(CLOSE);
  }

  /** Passes all lines to `work`. The buffer is valid only while `work` runs. */
  take<T>(work: (lines: Buffer) => T): T {
    this.#byte(CLOSE);
    const done = work(this.#bytes.subarray(0, this.#end));
    this.#memory.give(this.#bytes);
    return done;
  }

  #makeRoom(most: number): void {
    if (this.#bytes.length - this.#end < most) this.#grow(this.#end + most);
  }

  #grow(least: number): void {
    const small = this.#bytes;
    this.#bytes = this.#memory.take(least);
    small.copy(this.#bytes, 0, 0, this.#end);
    this.#memory.give(small);
  }

  #byte(value: number): void {
    this.#bytes[this.#end++] = value;
  }

  #number(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      this.#end += this.#bytes.write(String(value), this.#end);
      return;
    }
    if (value < MILLION) {
      this.#digits(value, digitsOf(value));
      return;
    }
    const millions = Math.floor(value / MILLION);
    if (millions < MILLION) this.#digits(millions, digitsOf(millions));
    else {
      const more = Math.floor(millions / MILLION);
      this.#digits(more, digitsOf(more));
      this.#digits(millions - more * MILLION, 6);
    }
    this.#digits(value - millions * MILLION, 6);
  }

  /** Writes a whole number below a million with leading zeros. */
  #digits(value: number, count: number): void {
    let rest = value | 0;
    for (let at = this.#end + count - 1; at >= this.#end; at -= 1) {
      const tenth = (rest / 10) | 0;
      this.#bytes[at] = ZERO + rest - tenth * 10;
      rest = tenth;
    }
    this.#end += count;
  }
}

const MILLION = 1_000_000;

function digitsOf(value: number): number {
  let count = 1;
  for (let limit = 10; value >= limit; limit *= 10) count += 1;
  return count;
}
