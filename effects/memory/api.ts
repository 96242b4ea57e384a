/** What the effects of this folder need of learned patterns; `catalog/patterns-api.ts` says what each call promises. */
export interface PatternMemory {
  query(
    tenant: string,
    query: {
      readonly errorSignature: string;
      readonly errorType?: string;
      readonly limit?: number;
      readonly minSimilarity?: number;
    },
  ): Promise<
    readonly {
      readonly pattern_id: string;
      readonly solution_approach: string;
      readonly solution_code?: string;
      readonly success_score: number;
    }[]
  >;
  store(
    tenant: string,
    pattern: {
      readonly errorSignature: string;
      readonly errorType: string;
      readonly errorMessage: string;
      readonly solutionApproach: string;
      readonly solutionCode?: string;
      readonly tags: readonly string[];
    },
    options: { readonly once: string },
  ): Promise<{ readonly pattern_id: string; readonly deduplicated: boolean; readonly new_frequency: number }>;
}
