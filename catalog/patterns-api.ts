import type { Page, PageAsked } from '../runtime/documents/pages.ts';

/** A learned pattern (`MemoryPattern`, G11). */
export interface LearnedPattern {
  readonly pattern_id: string;
  readonly error_signature: string;
  readonly error_type: string;
  readonly solution_approach: string;
  readonly solution_code?: string;
  /** 0 to 1, decayed by age. */
  readonly success_score: number;
  /** Number of times it was stored. */
  readonly frequency: number;
}

export interface PatternQuery {
  readonly errorSignature: string;
  readonly errorType?: string;
  /** Default 10, at most 100. */
  readonly limit?: number;
  /** 0 to 1; default 0. */
  readonly minSuccessScore?: number;
  /** Minimum similarity of the signature, 0 to 1; default 0.3. */
  readonly minSimilarity?: number;
}

export interface NewPattern {
  readonly errorSignature: string;
  readonly errorType: string;
  readonly errorMessage: string;
  readonly solutionApproach: string;
  readonly solutionCode?: string;
  readonly tags: readonly string[];
}

export interface StoredPattern {
  readonly pattern_id: string;
  /** True when an equivalent pattern existed; its weight was increased instead. */
  readonly deduplicated: boolean;
  readonly new_frequency: number;
}

export interface PatternPage extends PageAsked {
  readonly errorType?: string;
}

/**
 * Errors and their solutions, by tenant (G11). All calls throw `cortex_not_configured` when memory is switched off, and
 * `invalid_argument` naming the field.
 */
export interface Patterns {
  /** Best first: by similarity of the signature, then by success. */
  query(tenant: string, query: PatternQuery): Promise<readonly LearnedPattern[]>;
  /** `once` is an idempotency key (an iteration of an execution): a repeat is not counted again. */
  store(tenant: string, pattern: NewPattern, options?: { readonly once?: string }): Promise<StoredPattern>;
  /** All patterns of a tenant, highest decayed weight first. */
  list(tenant: string, page: PatternPage): Promise<Page<LearnedPattern>>;
}
