import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';

/** Keys of stores that counted already, newest first, and the frequency each made. */
export interface CountedOnce {
  readonly key: string;
  readonly frequency: number;
}

/**
 * One pattern. Its id is made of its normal form (pattern-rules.ts), so those who store the same text at the same time
 * write one document, and a compare-and-set on it counts them all.
 */
export interface PatternRecord extends StoredDocument {
  readonly error_signature: string;
  readonly error_type: string;
  /** The type as it is compared. */
  readonly error_type_key: string;
  readonly error_message: string;
  readonly solution_approach: string;
  readonly solution_code: string | null;
  readonly tags: readonly string[];
  /** Normal form of the signature, which every query compares. */
  readonly words: readonly string[];
  readonly frequency: number;
  /** One a store, halved by each half life since: as it was at `last_used_ms`. */
  readonly weight: number;
  readonly created_ms: number;
  readonly last_used_ms: number;
  /** Orders by decayed weight whatever the time is (decay.ts). */
  readonly strength: number;
  readonly once: readonly CountedOnce[];
}

/** Patterns whose signatures hold a term; `id` is its place (terms.ts). Bounded: those stored last come first. */
export interface TermRecord extends StoredDocument {
  readonly pattern_ids: readonly string[];
}

export const PATTERNS: CollectionSpec = {
  name: 'learned_patterns',
  unique: [],
  indexes: [['strength'], ['error_type_key', 'strength']],
};
export const PATTERN_TERMS: CollectionSpec = { name: 'learned_pattern_terms', unique: [], indexes: [] };
