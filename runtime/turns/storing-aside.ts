import type { Address } from '../address.ts';
import type { Clock } from '../clock.ts';
import { toSvcError } from '../errors.ts';
import { Patience } from '../patience.ts';
import type { Payloads } from './payload.ts';

/** How long a batch for many actors waits until large payloads of one are stored. */
const PATIENCE_MS = 20;

/** The large payloads that one batch stores aside: whose they are, and whether that takes too long. */
export class StoringAside {
  readonly payloads: Payloads;
  readonly #patience: Patience;
  readonly #actors = new Set<Address>();
  readonly #owned: { readonly actor: Address; readonly stored: Promise<string> }[] = [];
  readonly #first = Promise.withResolvers<void>();

  constructor(payloads: Payloads, clock: Pick<Clock, 'after'>) {
    this.#patience = new Patience(clock, PATIENCE_MS);
    this.payloads = {
      ...payloads,
      pack: (actor, text) => this.#note(actor, payloads.pack(actor, text)),
      packOwned: (actor, text, owner) => {
        const stored = this.#note(actor, payloads.packOwned(actor, text, owner));
        if (typeof stored !== 'string') this.#owned.push({ actor, stored });
        return stored;
      },
      setAside: (actor, text) => Promise.resolve(this.#note(actor, payloads.setAside(actor, text))),
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
