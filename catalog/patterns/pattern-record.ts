import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';

/** An idempotency key that was counted, and the frequency that resulted. */
interface CountedOnce {
  readonly key: string;
  readonly frequency: number;
}

/** The vectors of a pattern, as they are stored with it. */
export interface StoredMeaning {
  /** Vectors of different models are not comparable. */
  readonly model: string;
  readonly error: string;
  readonly solution: string;
}

/**
 * A pattern. Its id is derived from its normal form (pattern-rules.ts), so concurrent stores of the same text write one
 * document, and compare-and-set counts each of them.
 */
export interface PatternRecord extends StoredDocument {
  readonly error_signature: string;
  readonly error_type: string;
  /** Normalised type. */
  readonly error_type_key: string;
  readonly error_message: string;
  readonly solution_approach: string;
  readonly solution_code: string | null;
  readonly tags: readonly string[];
  /** Normalised signature, compared by every query. */
  readonly words: readonly string[];
  readonly frequency: number;
  /** 1 for each store, decayed by half each half-life; the value at `last_used_ms`. */
  readonly weight: number;
  readonly created_ms: number;
  readonly last_used_ms: number;
  /** Sorts by decayed weight, independent of the current time (see `Decay`). */
  readonly strength: number;
  /** Absent: it was stored without a model, or while the model did not answer. */
  readonly vectors?: StoredMeaning;
  /** Newest first. */
  readonly once: readonly CountedOnce[];
}

export const PATTERNS: CollectionSpec = {
  name: 'learned_patterns',
  unique: [],
  indexes: [['strength'], ['error_type_key', 'strength']],
};

const MS_PER_DAY = 86_400_000;

type Used = Pick<PatternRecord, 'weight' | 'last_used_ms'>;

/** Exponential decay of patterns: their weight halves with each half-life without use. */
export interface Decay {
  /** The weight now. */
  weight(used: Used, nowMs: number): number;
  /**
   * A key that sorts by decayed weight at any time: log2(weight · 2^(−(now − last) / half-life)) equals this minus
   * now / half-life, which is the same for all patterns.
   */
  strength(used: Used): number;
  /** 0 to 1: the share of successful uses by the rule of succession, decayed since the last use. */
  success(record: Pick<PatternRecord, 'frequency' | 'last_used_ms'>, nowMs: number): number;
}

export function halfLife(days: number): Decay {
  const halfLifeMs = days * MS_PER_DAY;
  // A clock that runs behind does not raise the weight.
  const left = (lastMs: number, nowMs: number): number => 2 ** -(Math.max(0, nowMs - lastMs) / halfLifeMs);
  return {
    weight: ({ weight, last_used_ms }, nowMs) => weight * left(last_used_ms, nowMs),
    strength: ({ weight, last_used_ms }) => Math.log2(weight) + last_used_ms / halfLifeMs,
    success: ({ frequency, last_used_ms }, nowMs) => ((frequency + 1) / (frequency + 2)) * left(last_used_ms, nowMs),
  };
}
