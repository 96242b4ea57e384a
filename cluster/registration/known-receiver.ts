import type { Metadata } from '@grpc/grpc-js';
import type { Clock } from '../../runtime/clock.ts';
import type { SvcError } from '../../runtime/errors.ts';
import type { Receiver } from '../../security/node-proofs/proof.ts';

/** Makes metadata with a proof for a receiver. */
export type Prove = (to: Receiver & { readonly at: number }) => Promise<Readonly<Record<string, string>>>;

/**
 * Maximum difference of clocks that is corrected. A proof for a later time could be stored and used then, so a receiver's time
 * is trusted only within this bound.
 */
const MAX_SKEW_MS = 15 * 60_000;

/**
 * The node at an address, as known from the trailers of its answers. When the id of the node is known beforehand, proofs are
 * made for that id only, whatever id the answers contain. Otherwise a node could obtain proofs for another one.
 */
export class KnownReceiver {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #expected: string | null;
  #nodeId: string;
  #life = '';
  #theirTime: number | null = null;
  #aheadMs = 0;

  constructor(clock: Pick<Clock, 'now'>, expected: string | null) {
    this.#clock = clock;
    this.#expected = expected;
    this.#nodeId = expected ?? '';
  }

  /** The receiver and the time for a proof made now. */
  now(): Receiver & { readonly at: number } {
    return { nodeId: this.#nodeId, life: this.#life, at: this.#clock.now() + this.#aheadMs };
  }

  /** Reads the trailers of an answer; nodes without proofs send none. */
  update(trailers: Metadata | undefined): void {
    const [nodeId, life, time] = ['svc-node-id', 'svc-node-life', 'svc-node-time'].map((key) => trailers?.get(key)[0]);
    if (typeof nodeId !== 'string' || typeof life !== 'string') return;
    if (this.#expected !== null && nodeId !== this.#expected) return;
    this.#nodeId = nodeId;
    this.#life = life;
    this.#theirTime = typeof time === 'string' && /^\d{1,16}$/.test(time) ? Number(time) : null;
  }

  /** Whether to repeat a call that was refused with a proof for `before`, by what its trailers said. */
  isWorthAnother(error: SvcError, before: Receiver): boolean {
    if (error.reason === 'proof_receiver') return before.nodeId !== this.#nodeId || before.life !== this.#life;
    if (error.reason !== 'proof_time' || this.#theirTime === null) return false;
    const aheadMs = this.#theirTime - this.#clock.now();
    if (Math.abs(aheadMs) > MAX_SKEW_MS) return false;
    this.#aheadMs = aheadMs;
    return true;
  }
}
