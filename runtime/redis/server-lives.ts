import type { Lease } from '../actor-store.ts';
import type { Log } from '../address.ts';
import type { LeaseThread } from './lease-thread.ts';

/**
 * Which life of the server granted each lease (functions/_prelude.lua). Poll and renewal name it: a server of another
 * life may have lost what the holder knows, so the lease is to be taken anew. So does a commit: the server then looks
 * whether the entry at `upTo` is still the same.
 */
export class ServerLives {
  readonly #lives = new Map<Log, { readonly grant: string; readonly life: string }>();
  readonly #thread: LeaseThread | null;

  /** `thread` keeps what was granted here while the event loop is busy. */
  constructor(thread: LeaseThread | null) {
    this.#thread = thread;
  }

  granted(lease: Lease, life: string, ttlMs: number): void {
    this.#lives.set(lease.log, { grant: lease.grant, life });
    this.#thread?.renewed(lease, life, ttlMs);
  }

  released(lease: Lease): void {
    const { log, grant } = lease;
    this.#thread?.released(lease);
    if (this.#lives.get(log)?.grant === grant) this.#lives.delete(log);
  }

  /** Empty when it is not known: then the server looks. */
  at({ log, grant }: Lease): string {
    const known = this.#lives.get(log);
    return known?.grant === grant ? known.life : '';
  }
}
