import type { NodeCortex } from '../../manifests/node/cortex.ts';
import type { CalmEmbeddings } from './calm-embeddings.ts';
import type { Meaning } from './ranking.ts';
import type { Vector } from './vector.ts';

const MAX_KNOWN = 256;
const DEFAULTS = { weight: 0.7, cosine_floor: 0.2, cosine_ceiling: 0.8 };

/** The meaning of queries; those asked lately are known. */
export class QueryVectors {
  readonly #embeddings: CalmEmbeddings;
  readonly #settings: typeof DEFAULTS;
  readonly #known = new Map<string, Vector>();

  constructor(embeddings: CalmEmbeddings, settings: NodeCortex['embeddings']) {
    this.#embeddings = embeddings;
    this.#settings = settings ?? DEFAULTS;
  }

  /** Null while the model does not answer. */
  async of(query: string): Promise<Meaning | null> {
    const vector = this.#known.get(query) ?? (await this.#embeddings.embed([query]))?.[0] ?? null;
    if (vector === null) return null;
    this.#known.delete(query);
    this.#known.set(query, vector);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    const { weight, cosine_floor: cosineFloor, cosine_ceiling: cosineCeiling } = this.#settings;
    return { vector, weight, cosineFloor, cosineCeiling };
  }
}
