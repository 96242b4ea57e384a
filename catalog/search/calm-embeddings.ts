import type { Clock } from '../../runtime/clock.ts';
import type { Embeddings } from '../api.ts';
import { type Vector, vectorOf } from './vector.ts';

/** After a failure the model is left in peace for so long. */
const PAUSE_MS = 10_000;
/** One failure is said in the log, then no other for so long. */
const QUIET_MS = 60_000;

/** Embeddings that nobody waits for twice when they fail: searches then go by words alone, and the log says so. */
export class CalmEmbeddings {
  readonly model: string;
  readonly #embeddings: Embeddings;
  readonly #clock: Clock;
  readonly #warn: (message: string, error: unknown) => void;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #quietUntil = Number.NEGATIVE_INFINITY;

  constructor(embeddings: Embeddings, clock: Clock, warn: (message: string, error: unknown) => void) {
    this.model = embeddings.model;
    this.#embeddings = embeddings;
    this.#clock = clock;
    this.#warn = warn;
  }

  /** A vector for each text, null for one without direction; null when the model does not answer now. */
  async embed(texts: readonly string[]): Promise<(Vector | null)[] | null> {
    if (this.#clock.monotonic() < this.#pausedUntil) return null;
    try {
      return (await this.#embeddings.embed(texts)).map((numbers) => vectorOf(numbers));
    } catch (thrown) {
      const now = this.#clock.monotonic();
      this.#pausedUntil = now + PAUSE_MS;
      if (now >= this.#quietUntil) {
        this.#quietUntil = now + QUIET_MS;
        this.#warn('the model of spec.cortex.embeddings does not answer; searches go by words alone', thrown);
      }
      return null;
    }
  }
}
