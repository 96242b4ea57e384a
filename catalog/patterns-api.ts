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
  /** How often it was stored. */
  readonly frequency: number;
}

export interface PatternQuery {
  readonly errorSignature: string;
  readonly errorType?: string;
  /** Default 10, at most 100. */
  readonly limit?: number;
  /** 0 to 1; default 0. */
  readonly minSuccessScore?: number;
  /** How alike a signature must be, 0 to 1; default 0.3. */
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
  /** A pattern that means the same was there: its weight grew instead. */
  readonly deduplicated: boolean;
  readonly new_frequency: number;
}

export interface PatternPage extends PageAsked {
  readonly errorType?: string;
}

/**
 * Errors and what solved them, by tenant (G11). All throw `cortex_not_configured` where memory is
 * switched off, `invalid_argument` naming the field.
 */
export interface Patterns {
  /** Best first: similarity of the signature, then success. */
  query(tenant: string, query: PatternQuery): Promise<readonly LearnedPattern[]>;
  /** `once`: a repeat under the same key (an execution's iteration) is counted once. */
  store(tenant: string, pattern: NewPattern, options?: { readonly once?: string }): Promise<StoredPattern>;
  /** All of a tenant, strongest first: by their decayed weight. */
  list(tenant: string, page: PatternPage): Promise<Page<LearnedPattern>>;
}
