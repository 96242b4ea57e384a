import type { Metadata } from '@grpc/grpc-js';
import type { Clock } from '../../runtime/clock.ts';
import type { SvcError } from '../../runtime/errors.ts';
import type { Receiver } from '../../security/node-proofs/proof.ts';

/** Metadata that carries a proof for a receiver. */
export type Prove = (to: Receiver & { readonly at: number }) => Promise<Readonly<Record<string, string>>>;

/**
 * How far a receiver's clock may be from this node's to be followed. A proof for a later time could be kept until then, so what
 * a receiver says of its time is believed within a bound.
 */
const MAX_SKEW_MS = 15 * 60_000;

/**
 * What a node knows of the one at an address, from the trailers of its answers. Where it knows whom it calls, it makes proofs
 * for that node only, whatever the one that answers calls itself: else a node could have a proof made for another one.
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

  /** For whom and for when a proof is made now. */
  now(): Receiver & { readonly at: number } {
    return { nodeId: this.#nodeId, life: this.#life, at: this.#clock.now() + this.#aheadMs };
  }

  /** Trailers of an answer; those of nodes that know no proofs say nothing. */
  hear(trailers: Metadata | undefined): void {
    const [nodeId, life, time] = ['svc-node-id', 'svc-node-life', 'svc-node-time'].map((key) => trailers?.get(key)[0]);
    if (typeof nodeId !== 'string' || typeof life !== 'string') return;
    if (this.#expected !== null && nodeId !== this.#expected) return;
    this.#nodeId = nodeId;
    this.#life = life;
    this.#theirTime = typeof time === 'string' && /^\d{1,16}$/.test(time) ? Number(time) : null;
  }

  /** Whether a call that was refused with a proof for `before` is worth another attempt, by what was heard since. */
  isWorthAnother(error: SvcError, before: Receiver): boolean {
    if (error.reason === 'proof_receiver') return before.nodeId !== this.#nodeId || before.life !== this.#life;
    if (error.reason !== 'proof_time' || this.#theirTime === null) return false;
    const aheadMs = this.#theirTime - this.#clock.now();
    if (Math.abs(aheadMs) > MAX_SKEW_MS) return false;
    this.#aheadMs = aheadMs;
    return true;
  }
}
