import { type Address, tenantOf } from '../address.ts';
import { type Blobs, INLINE_LIMIT_BYTES, PAYLOAD_LIMIT_BYTES } from '../blobs.ts';
import type { Clock } from '../clock.ts';
import { ownerPart } from '../documents/blob-reference.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { turnsFirst, WaitBudget } from '../kit/waits.ts';

/**
 * Keeps texts in the actor store small (K7): text over 64 KiB goes to Blobs, and a reference `@tenant/ref` takes its
 * place. All packed text is JSON, so no inline text starts with `@`.
 */
export interface Payloads {
  /** Packs a text. Text in Blobs belongs to `actor` and is removed with it. Throws `payload_too_large` over 16 MiB. */
  pack(actor: Address, text: string): string | Promise<string>;
  /**
   * Packs a JSON object whose bytes in Blobs are shared with no other text: they begin with `owner`, a name used once.
   * Only such a text may be discarded, because a tenant's equal bytes are stored once.
   */
  packOwned(actor: Address, text: string, owner: string): string | Promise<string>;
  /** Deletes the bytes that a packed text refers to. An inline text refers to none. */
  discard(packed: string): Promise<void>;
  /** Stores a text of any size in Blobs and returns its reference. The text must not be a reference already. */
  spill(actor: Address, text: string): Promise<string>;
  /** Whether a text was stored in Blobs for that actor. */
  isOf(packed: string, actor: Address): boolean;
  /** Deletes all bytes that were stored in Blobs for an actor. */
  discardAll(actor: Address): Promise<void>;
  unpack(text: string): string | Promise<string>;
}

const MARK = '@';

/** Beginning of owned text. No record begins with it otherwise. */
const OWNER = '{"o":';

export const isSpilled = (packed: string): boolean => packed.startsWith(MARK);

/** Whether a text was packed by `packOwned` and stored in Blobs. `plain` is the unpacked text. */
export const isOwned = (packed: string, plain: string): boolean => isSpilled(packed) && plain.startsWith(OWNER);

/** Tenant and reference in a packed text. */
function namedBy(packed: string): [tenant: string, ref: string] {
  const slash = packed.indexOf('/');
  return [packed.slice(1, slash), packed.slice(slash + 1)];
}

/** Texts above this size are encoded and decoded in separate turns of the event loop. */
const OWN_TURN_CHARS = 1024 * 1024;

function isLarge(text: string): boolean {
  // The size in UTF-8 is between one and three times the UTF-16 length: only texts in that range need counting.
  if (text.length > INLINE_LIMIT_BYTES) return true;
  return text.length * 3 > INLINE_LIMIT_BYTES && Buffer.byteLength(text) > INLINE_LIMIT_BYTES;
}

export function createPayloads(blobs: Blobs): Payloads {
  const put = async (actor: Address, bytes: Buffer): Promise<string> => {
    const tenant = tenantOf(actor);
    return `${MARK}${tenant}/${await blobs.put(tenant, bytes, actor)}`;
  };
  const putLarge = async (actor: Address, text: string): Promise<string> => {
    // Making the text took a turn of the event loop already.
    if (text.length > OWN_TURN_CHARS) await turnsFirst();
    const bytes = Buffer.from(text);
    const { length } = bytes;
    if (length <= PAYLOAD_LIMIT_BYTES) return put(actor, bytes);
    throw new SvcError('payload_too_large', `the payload has ${length} bytes, the limit is ${PAYLOAD_LIMIT_BYTES}`);
  };
  const read = async (tenant: string, ref: string): Promise<string> => {
    const { buffer, byteOffset, byteLength } = await blobs.get(tenant, ref);
    if (byteLength > OWN_TURN_CHARS) await turnsFirst();
    const text = Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
    // Parsing it takes a turn of the event loop as well.
    if (byteLength > OWN_TURN_CHARS) await turnsFirst();
    return text;
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
      return isSpilled(text) ? read(...namedBy(text)) : text;
    },
    async discard(packed) {
      if (isSpilled(packed)) await blobs.delete(...namedBy(packed));
    },
  };
}

/** How long a batch for many actors waits until large payloads of one of them are stored. */
const PATIENCE_MS = 20;

/** The large payloads that one batch stores in Blobs: their actors, and whether storing takes too long. */
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

  /** Actors with large payloads. */
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
   * Waits for `packing`. Null when storing takes too long or cannot be done now: `discard` is then called for each
   * state that is stored all the same, and `packing` is ignored.
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
      // A text that could not be stored need not be deleted.
      stored.then((text) => discard(actor, text)).catch(() => undefined);
    }
    return null;
  }
}
