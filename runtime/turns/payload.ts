import { type Blobs, INLINE_LIMIT_BYTES, PAYLOAD_LIMIT_BYTES } from '../blobs.ts';
import { SvcError } from '../errors.ts';

/**
 * Keeps what is stored in the actor store small (design K7): text over 64 KiB goes to Blobs and a reference
 * `@tenant/ref` stands in its place. Everything packed is JSON, so no packed text starts with `@` by itself.
 */
export interface Payloads {
  /** Throws `payload_too_large` over 16 MiB. */
  pack(tenant: string, text: string): string | Promise<string>;
  /**
   * Packs a JSON object whose bytes, when they are stored aside, no other text shares: they begin with `owner`, a name
   * used once. Only such a text may be discarded, since equal bytes of a tenant are stored once.
   */
  packOwned(tenant: string, text: string, owner: string): string | Promise<string>;
  /** Deletes what a packed text refers to; an inline text refers to nothing. */
  discard(packed: string): Promise<void>;
  /** Packs text of any size that is no reference yet. */
  setAside(tenant: string, text: string): Promise<string>;
  unpack(text: string): string | Promise<string>;
}

const MARK = '@';
/** How owned text begins; no record begins so by itself. */
const OWNER = '{"o":';

export const isAside = (packed: string): boolean => packed.startsWith(MARK);

/** Whether a text was packed by `packOwned` and stored aside. `plain` is what unpacking it gave. */
export const isOwned = (packed: string, plain: string): boolean => isAside(packed) && plain.startsWith(OWNER);

/** Tenant and reference that a packed text names. */
function namedBy(packed: string): [tenant: string, ref: string] {
  const slash = packed.indexOf('/');
  return [packed.slice(1, slash), packed.slice(slash + 1)];
}

function isLarge(text: string): boolean {
  // UTF-16 length bounds the UTF-8 size from below and three times it from above: only the middle needs counting.
  return text.length * 3 > INLINE_LIMIT_BYTES && Buffer.byteLength(text) > INLINE_LIMIT_BYTES;
}

export function createPayloads(blobs: Blobs): Payloads {
  const put = (tenant: string, bytes: Buffer) => blobs.put(tenant, bytes).then((ref) => `${MARK}${tenant}/${ref}`);
  const putLarge = (tenant: string, text: string): Promise<string> => {
    const bytes = Buffer.from(text);
    const { length } = bytes;
    if (length <= PAYLOAD_LIMIT_BYTES) return put(tenant, bytes);
    throw new SvcError('payload_too_large', `the payload has ${length} bytes, the limit is ${PAYLOAD_LIMIT_BYTES}`);
  };
  return {
    async setAside(tenant, text) {
      return isAside(text) ? text : put(tenant, Buffer.from(text));
    },
    pack: (tenant, text) => (isLarge(text) ? putLarge(tenant, text) : text),
    packOwned: (tenant, text, owner) =>
      isLarge(text) ? putLarge(tenant, `${OWNER}${JSON.stringify(owner)},${text.slice(1)}`) : text,
    unpack(text) {
      if (!isAside(text)) return text;
      return blobs.get(...namedBy(text)).then((bytes) => Buffer.from(bytes).toString('utf8'));
    },
    async discard(packed) {
      if (isAside(packed)) await blobs.delete(...namedBy(packed));
    },
  };
}
