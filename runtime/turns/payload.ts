import { type Blobs, INLINE_LIMIT_BYTES, PAYLOAD_LIMIT_BYTES } from '../blobs.ts';
import { SvcError } from '../errors.ts';

/**
 * Keeps what is stored in the actor store small (design K7): text over 64 KiB goes to Blobs and a reference
 * `@tenant/ref` stands in its place. Everything packed is JSON, so no packed text starts with `@` by itself.
 */
export interface Payloads {
  /** Throws `payload_too_large` over 16 MiB. */
  pack(tenant: string, text: string): string | Promise<string>;
  /** Packs text of any size that is no reference yet. */
  setAside(tenant: string, text: string): Promise<string>;
  unpack(text: string): string | Promise<string>;
}

const MARK = '@';

export function createPayloads(blobs: Blobs): Payloads {
  const put = (tenant: string, bytes: Buffer) => blobs.put(tenant, bytes).then((ref) => `${MARK}${tenant}/${ref}`);
  return {
    async setAside(tenant, text) {
      return text.startsWith(MARK) ? text : put(tenant, Buffer.from(text));
    },
    pack(tenant, text) {
      // UTF-16 length bounds the UTF-8 size from below and three times it from above: only the middle needs counting.
      if (text.length * 3 <= INLINE_LIMIT_BYTES) return text;
      const bytes = Buffer.byteLength(text);
      if (bytes <= INLINE_LIMIT_BYTES) return text;
      if (bytes > PAYLOAD_LIMIT_BYTES) {
        throw new SvcError('payload_too_large', `the payload has ${bytes} bytes, the limit is ${PAYLOAD_LIMIT_BYTES}`);
      }
      return put(tenant, Buffer.from(text));
    },
    unpack(text) {
      if (!text.startsWith(MARK)) return text;
      const slash = text.indexOf('/');
      const tenant = text.slice(1, slash);
      return blobs.get(tenant, text.slice(slash + 1)).then((bytes) => Buffer.from(bytes).toString('utf8'));
    },
  };
}
