/** A generator of numbers that depend only on the seed (mulberry32). */
export class Seeded {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 to `below` - 1. */
  nat(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }

  between(from: number, to: number): number {
    return from + this.nat(to - from + 1);
  }

  pick<T>(values: readonly T[]): T {
    const [first] = values;
    if (first === undefined) throw new Error('no items to choose from');
    return values[this.nat(values.length)] ?? first;
  }

  /** The bytes with one bit inverted. */
  flipped(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes);
    const place = this.nat(copy.length);
    copy[place] = (copy[place] ?? 0) ^ (1 << this.nat(8));
    return copy;
  }

  /** The text with one character replaced by another one of the same alphabet. */
  swapped(text: string, alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'): string {
    const place = this.nat(text.length);
    const others = [...alphabet].filter((char) => char !== text[place]);
    return text.slice(0, place) + this.pick(others) + text.slice(place + 1);
  }
}
