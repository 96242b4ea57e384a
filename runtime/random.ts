import { createHash, randomBytes, randomUUID } from 'node:crypto';

/**
 * Provides random values. It is a port so that a simulation can be seeded (K9).
 * Implemented by `systemRandom` below, and by seeded sources of tests and the simulation.
 */
export interface Random {
  uuid(): string;
  /** Lower-case hex of `bytes` random bytes. */
  hex(bytes: number): string;
  /** Returns a number in [0, 1). */
  fraction(): number;
}

/** A UUID of any version, in either case. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Random bytes are fetched in blocks of this size: one system call serves hundreds of ids. */
const PAGE_BYTES = 4_096;

let page = Buffer.alloc(0);

let used = 0;

function hex(bytes: number): string {
  if (bytes > PAGE_BYTES) return randomBytes(bytes).toString('hex');
  if (used + bytes > page.length) {
    page = randomBytes(PAGE_BYTES);
    used = 0;
  }
  used += bytes;
  const drawn = page.toString('hex', used - bytes, used);
  page.fill(0, used - bytes, used);
  return drawn;
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  hex,
  fraction: () => Math.random(),
};

/** Derives a UUID from words. The same words give the same UUID at any time and place (RFC 9562, version 8). */
export function derivedUuid(...words: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(words)).digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
