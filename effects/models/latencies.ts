import type { Clock } from '../../runtime/clock.ts';
import type { ModelPart } from './call.ts';
import type { Target } from './targets.ts';

/** Weight of the newest measurement. */
const NEWEST = 0.3;

/**
 * How long each target takes to begin an answer, as this node saw it lately, for the strategy `latency-optimized`.
 * Kept in memory only: a new node measures anew.
 */
export class Latencies {
  readonly #ms = new WeakMap<Target['model'], number>();

  readonly of = (target: Target): number | undefined => this.#ms.get(target.model);

  /** Failures are added with the whole time-out, so that a broken target stops looking fast. */
  add(target: Target, ms: number): void {
    const known = this.#ms.get(target.model);
    this.#ms.set(target.model, known === undefined ? ms : known * (1 - NEWEST) + ms * NEWEST);
  }

  /** Passes the parts through and notes when the first one came. */
  async *measure(target: Target, parts: AsyncIterable<ModelPart>, clock: Clock): AsyncGenerator<ModelPart> {
    const startedAt = clock.monotonic();
    let first = true;
    for await (const part of parts) {
      if (first) this.add(target, clock.monotonic() - startedAt);
      first = false;
      yield part;
    }
  }
}
