import { type Address, tenantOf } from '../address.ts';
import { type Blobs, INLINE_LIMIT_BYTES, PAYLOAD_LIMIT_BYTES } from '../blobs.ts';
import type { Clock } from '../clock.ts';
import { ownerPart } from '../documents/blob-reference.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { WaitBudget } from '../kit/waits.ts';

/**
 * Keeps what is stored in the actor store small (K7): text over 64 KiB goes to Blobs and a reference
 * `@tenant/ref` stands in its place. Everything packed is JSON, so no packed text starts with `@` by itself.
 */
export interface Payloads {
  /** What is stored aside belongs to `actor` and is removed with it. Throws `payload_too_large` over 16 MiB. */
  pack(actor: Address, text: string): string | Promise<string>;
  /**
   * Packs a JSON object whose bytes, when they are stored aside, no other text shares: they begin with `owner`, a name
   * used once. Only such a text may be discarded, since equal bytes of a tenant are stored once.
   */
  packOwned(actor: Address, text: string, owner: string): string | Promise<string>;
  /** Deletes what a packed text refers to; an inline text refers to nothing. */
  discard(packed: string): Promise<void>;
  /** Packs text of any size that is no reference yet. */
  spill(actor: Address, text: string): Promise<string>;
  /** Whether a text was stored aside for that actor. */
  isOf(packed: string, actor: Address): boolean;
  /** Deletes all that was stored aside for an actor. */
  discardAll(actor: Address): Promise<void>;
  unpack(text: string): string | Promise<string>;
}

const MARK = '@';

/** How owned text begins; no record begins so by itself. */
const OWNER = '{"o":';

export const isSpilled = (packed: string): boolean => packed.startsWith(MARK);

/** Whether a text was packed by `packOwned` and stored aside. `plain` is what unpacking it gave. */
export const isOwned = (packed: string, plain: string): boolean => isSpilled(packed) && plain.startsWith(OWNER);

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
  const put = async (actor: Address, bytes: Buffer): Promise<string> => {
    const tenant = tenantOf(actor);
    return `${MARK}${tenant}/${await blobs.put(tenant, bytes, actor)}`;
  };
  const putLarge = (actor: Address, text: string): Promise<string> => {
    const bytes = Buffer.from(text);
    const { length } = bytes;
    if (length <= PAYLOAD_LIMIT_BYTES) return put(actor, bytes);
    throw new SvcError('payload_too_large', `the payload has ${length} bytes, the limit is ${PAYLOAD_LIMIT_BYTES}`);
  };
  return {
    async spill(actor, text) {
      return isSpilled(text) ? text : put(actor, Buffer.from(text));
    },
    pack: (actor, text) => (isLarge(text) ? putLarge(actor, text) : text),
    packOwned: (actor, text, owner) =>
      isLarge(text) ? putLarge(actor, `${OWNER}${JSON.stringify(owner)},${text.slice(1)}`) : text,
    isOf: (packed, actor) => isSpilled(packed) && packed.endsWith(`.${ownerPart(actor)}`),
    discardAll: (actor) => blobs.deleteOwned(tenantOf(actor), actor),
    unpack(text) {
      if (!isSpilled(text)) return text;
      return blobs.get(...namedBy(text)).then((bytes) => Buffer.from(bytes).toString('utf8'));
    },
    async discard(packed) {
      if (isSpilled(packed)) await blobs.delete(...namedBy(packed));
    },
  };
}

/** How long a batch for many actors waits until large payloads of one are stored. */
const PATIENCE_MS = 20;

/** The large payloads that one batch stores aside: whose they are, and whether that takes too long. */
export class Spilling {
  readonly payloads: Payloads;
  readonly #patience: WaitBudget;
  readonly #actors = new Set<Address>();
  readonly #owned: { readonly actor: Address; readonly stored: Promise<string> }[] = [];
  readonly #first = Promise.withResolvers<void>();

  constructor(payloads: Payloads, clock: Pick<Clock, 'after'>) {
    this.#patience = new WaitBudget(clock, PATIENCE_MS);
    this.payloads = {
      ...payloads,
      pack: (actor, text) => this.#note(actor, payloads.pack(actor, text)),
      packOwned: (actor, text, owner) => {
        const stored = this.#note(actor, payloads.packOwned(actor, text, owner));
        if (typeof stored !== 'string') this.#owned.push({ actor, stored });
        return stored;
      },
      spill: (actor, text) => Promise.resolve(this.#note(actor, payloads.spill(actor, text))),
    };
  }

  /** Those whose payloads are large. */
  get actors(): ReadonlySet<Address> {
    return this.#actors;
  }

  #note(actor: Address, stored: string | Promise<string>): string | Promise<string> {
    if (typeof stored === 'string') return stored;
    this.#actors.add(actor);
    this.#first.resolve();
    return stored;
  }

  /**
   * Null when storing takes too long, or cannot be done now: states that are stored all the same are then told to `discard`, and
   * `packing` counts for nothing.
   */
  async within<T>(packing: Promise<T>, discard: (actor: Address, stored: string) => void): Promise<T | null> {
    const packed = packing.then(
      (value) => ({ value }),
      (thrown: unknown) => ({ thrown }),
    );
    const soon = this.#first.promise.then(() => this.#patience.for([packed])).then(() => null);
    const first = await Promise.race([packed, soon]).finally(() => this.#patience.end());
    if (first !== null && 'value' in first) return first.value;
    if (first !== null && (this.#actors.size === 0 || toSvcError(first.thrown).code !== 'unavailable'))
      throw first.thrown;
    for (const { actor, stored } of this.#owned) {
      // What could not be stored need not go.
      stored.then((text) => discard(actor, text)).catch(() => undefined);
    }
    return null;
  }
}
