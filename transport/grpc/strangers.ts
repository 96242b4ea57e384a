import { SvcError } from '../../runtime/errors.ts';

/** Calls under way that nobody had to be known for, counted for each connection: health, reflection. */
export class Strangers {
  readonly #most: number;
  /** By the client's `address:port`. */
  readonly #open = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** One more; the answer ends it. Throws `rate_limited`. */
  enter(peer: string): () => void {
    const now = this.#open.get(peer) ?? 0;
    if (now >= this.#most) {
      throw new SvcError('rate_limited', `at most ${this.#most} calls without a caller at once on one connection`);
    }
    this.#open.set(peer, now + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#open.get(peer) ?? 1) - 1;
      if (left === 0) this.#open.delete(peer);
      else this.#open.set(peer, left);
    };
  }
}
