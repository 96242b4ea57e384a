import { createHmac, timingSafeEqual } from 'node:crypto';
import { SvcError } from '../../runtime/errors.ts';

/** A signature over a body that is still coming in. */
export interface BodySignature {
  update(chunk: Uint8Array): void;
  /** Compares in constant time, once all was given. Throws `invalid_signature`. */
  verify(): void;
}

/** What the headers of a delivery say, known before a byte of its body is read. */
export interface SignedContent {
  /** Signed before the body, such as the time. */
  readonly prefix: string;
  /** Any of them may be the right one. */
  readonly digests: readonly Uint8Array[];
}

/**
 * HMAC-SHA256 over the prefix and the raw body as it streams, with each secret of its source. One digest of one secret has
 * to fit; which one took part is not visible from outside, since all are compared.
 */
export class HmacSignature implements BodySignature {
  readonly #hmacs: readonly ReturnType<typeof createHmac>[];
  readonly #digests: readonly Uint8Array[];
  #verified: string | null = null;

  constructor({ prefix, digests }: SignedContent, secrets: readonly Uint8Array[]) {
    this.#hmacs = secrets.map((secret) => createHmac('sha256', secret).update(prefix));
    this.#digests = digests;
  }

  /** The digest that was right, in hexadecimal; null before `verify`. */
  get verified(): string | null {
    return this.#verified;
  }

  update(chunk: Uint8Array): void {
    for (const hmac of this.#hmacs) hmac.update(chunk);
  }

  verify(): void {
    let verified: string | null = null;
    for (const hmac of this.#hmacs) {
      const expected = hmac.digest();
      for (const digest of this.#digests) if (isEqual(digest, expected)) verified = expected.toString('hex');
    }
    if (verified === null) throw new SvcError('invalid_signature');
    this.#verified = verified;
  }
}

/** The length of a right digest is no secret. */
const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other);
