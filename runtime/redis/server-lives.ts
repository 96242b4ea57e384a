import type { Lease } from '../actor-store.ts';
import type { Log } from '../address.ts';

/**
 * Which life of the server granted each lease (functions/_prelude.lua). Poll and renewal name it: a server of another
 * life may have lost what the holder knows, so the lease is to be taken anew. So does a commit: the server then looks
 * whether the entry at `upTo` is still the same.
 */
export class ServerLives {
  readonly #lives = new Map<Log, { readonly grant: string; readonly life: string }>();

  granted({ log, grant }: Lease, life: string): void {
    this.#lives.set(log, { grant, life });
  }

  released({ log, grant }: Lease): void {
    if (this.#lives.get(log)?.grant === grant) this.#lives.delete(log);
  }

  /** Empty when it is not known: then the server looks. */
  at({ log, grant }: Lease): string {
    const known = this.#lives.get(log);
    return known?.grant === grant ? known.life : '';
  }
}
