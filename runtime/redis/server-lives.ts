import type { Lease } from '../actor-store.ts';
import type { Partition } from '../address.ts';

/**
 * Which life of the server granted each lease (functions/_prelude.lua). Poll and renewal name it: a server of another
 * life may have lost what the holder knows, so the lease is to be taken anew. So does a commit: the server then looks
 * whether the entry at `upTo` is still the same.
 */
export class ServerLives {
  readonly #lives = new Map<Partition, { readonly grant: string; readonly life: string }>();

  granted({ partition, grant }: Lease, life: string): void {
    this.#lives.set(partition, { grant, life });
  }

  released({ partition, grant }: Lease): void {
    if (this.#lives.get(partition)?.grant === grant) this.#lives.delete(partition);
  }

  /** Empty when it is not known: then the server looks. */
  at({ partition, grant }: Lease): string {
    const known = this.#lives.get(partition);
    return known?.grant === grant ? known.life : '';
  }
}
