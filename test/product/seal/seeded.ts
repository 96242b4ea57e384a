import { SeededRandom } from '../../kill/random.ts';

/** Random changes of bytes and texts that depend only on the seed. */
export class Seeded extends SeededRandom {
  /** 0 to `below` - 1. */
  nat(below: number): number {
    return this.whole(0, below - 1);
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
