const KEY_KINDS = { message: 1, cause: 2, trace: 3, actor: 4, effect: 5 } as const;

/** Hashes are below 2 to the power of this. */
export const HASH_BITS = 40;

export type KeyKind = keyof typeof KEY_KINDS;

/**
 * Hash of a key: 40 bits of two multiplicative hashes over its characters, two at a time. Stored runs hold it, so it
 * never changes. Two keys may share a hash: the reader compares the deliveries that it finds.
 */
export const hashOf = (kind: KeyKind, tenant: string, id: string): number => new TenantHashes(tenant).of(kind, id);

/** Hashes of the keys of one tenant. */
export class TenantHashes {
  /** The two hashes after the tenant, for each kind of key. */
  readonly #ones = new Int32Array(6);
  readonly #two: number;

  constructor(tenant: string) {
    let two = 0x41c6ce57 ^ tenant.length;
    for (let at = 0; at < tenant.length; at += 1) two = Math.imul(two ^ tenant.charCodeAt(at), 0x5f356495);
    this.#two = two;
    for (const kind of Object.values(KEY_KINDS)) {
      let one = 0xdeadbeef ^ kind;
      for (let at = 0; at < tenant.length; at += 1) one = Math.imul(one ^ tenant.charCodeAt(at), 0x9e3779b1);
      this.#ones[kind] = one;
    }
  }

  of(kind: KeyKind, id: string): number {
    let one = this.#ones[KEY_KINDS[kind]] ?? 0;
    let two = this.#two;
    const pairs = id.length & ~1;
    for (let at = 0; at < pairs; at += 2) {
      const code = id.charCodeAt(at) | (id.charCodeAt(at + 1) << 16);
      one = Math.imul(one ^ code ^ (one >>> 15), 0x9e3779b1);
      two = Math.imul(two ^ code ^ (two >>> 17), 0x5f356495);
    }
    if (pairs < id.length) {
      const code = id.charCodeAt(pairs) + 1;
      one = Math.imul(one ^ code, 0x9e3779b1);
      two = Math.imul(two ^ code, 0x5f356495);
    }
    return mixed(one, two);
  }

  /** The same of an id in ASCII, which needs no text. */
  ofBytes(kind: KeyKind, bytes: Uint8Array, from: number, to: number): number {
    let one = this.#ones[KEY_KINDS[kind]] ?? 0;
    let two = this.#two;
    const end = from + ((to - from) & ~1);
    for (let at = from; at < end; at += 2) {
      const code = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 16);
      one = Math.imul(one ^ code ^ (one >>> 15), 0x9e3779b1);
      two = Math.imul(two ^ code ^ (two >>> 17), 0x5f356495);
    }
    if (end < to) {
      const code = (bytes[end] ?? 0) + 1;
      one = Math.imul(one ^ code, 0x9e3779b1);
      two = Math.imul(two ^ code, 0x5f356495);
    }
    return mixed(one, two);
  }
}

function mixed(first: number, second: number): number {
  const one = Math.imul(first ^ (first >>> 16), 0x85ebca6b) ^ Math.imul(second ^ (second >>> 13), 0xc2b2ae35);
  const two = Math.imul(second ^ (second >>> 16), 0x85ebca6b) ^ Math.imul(one ^ (one >>> 13), 0xc2b2ae35);
  return ((two >>> 8) & 0xff) * 2 ** 32 + ((one ^ (one >>> 15)) >>> 0);
}
