import type { NodeCortex } from '../../manifests/node/models.ts';
import { cosine, type EmbeddingsBreaker, textOfVector, type Vector, vectorOfText } from '../search/entry-vectors.ts';
import type { PatternRecord, StoredMeaning } from './pattern-record.ts';

/** Texts longer than this are cut before the model gets them. */
const MAX_TEXT_CHARS = 8_192;

/** Vectors of an error, and of its solution if it has one. */
export interface Meaning {
  readonly error: Vector;
  readonly solution: Vector | null;
}

type Scale = Pick<NonNullable<NodeCortex['embeddings']>, 'cosine_floor' | 'cosine_ceiling'>;

/** Compares patterns by the model of `spec.cortex.embeddings`, besides their words. */
export class PatternMeaning {
  readonly #embeddings: EmbeddingsBreaker;
  readonly #scale: Scale;

  constructor(embeddings: EmbeddingsBreaker, scale: Scale) {
    this.#embeddings = embeddings;
    this.#scale = scale;
  }

  /** Null while the model does not answer: then words alone decide. */
  async of(error: string, solution?: string): Promise<Meaning | null> {
    const texts = [error, ...(solution === undefined ? [] : [solution])].map((text) => text.slice(0, MAX_TEXT_CHARS));
    const [first, second = null] = (await this.#embeddings.embed(texts)) ?? [];
    return first === undefined || first === null ? null : { error: first, solution: second };
  }

  /** For the record of a new pattern; undefined for a meaning without a solution. */
  stored({ error, solution }: Meaning): StoredMeaning | undefined {
    if (solution === null) return undefined;
    return { model: this.#embeddings.model, error: textOfVector(error), solution: textOfVector(solution) };
  }

  /** Similarity of a stored pattern, 0 to 1: of the error, and of the solution where both have one. */
  similarity(meaning: Meaning, { vectors }: PatternRecord): number {
    if (vectors === undefined || vectors.model !== this.#embeddings.model) return 0;
    const error = this.#near(meaning.error, vectors.error);
    return meaning.solution === null ? error : Math.min(error, this.#near(meaning.solution, vectors.solution));
  }

  #near(vector: Vector, text: string): number {
    const other = vectorOfText(text);
    if (other === null) return 0;
    const { cosine_floor: floor, cosine_ceiling: ceiling } = this.#scale;
    return Math.min(1, Math.max(0, (cosine(vector, other) - floor) / (ceiling - floor)));
  }
}
