import { z } from 'zod';
import type { Patterns } from '../../catalog/patterns-api.ts';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';

/** Input of the effect `pattern.query`. */
const PatternQueryInput = z.object({
  error_signature: z.string(),
  error_type: z.string(),
  limit: z.number().int(),
  /** Minimum similarity of the signatures, 0 to 1. */
  min_likeness: z.number(),
});

/**
 * `pattern.query` (repeatable): solutions of similar errors in the actor's tenant. Result: `{patterns: [{pattern_id,
 * solution_approach, solution_code?, success_score}]}`, best first.
 */
export function createPatternQuery(memory: Pick<Patterns, 'query'>): EffectHandler<typeof PatternQueryInput> {
  return defineEffect({
    kind: 'pattern.query',
    input: PatternQueryInput,
    async run(input, { tenant }) {
      const found = await memory.query(tenant, {
        errorSignature: input.error_signature,
        errorType: input.error_type,
        limit: input.limit,
        minSimilarity: input.min_likeness,
      });
      return {
        patterns: found.map(({ pattern_id, solution_approach, solution_code, success_score }) => ({
          pattern_id,
          solution_approach,
          success_score,
          ...(solution_code === undefined ? {} : { solution_code }),
        })),
      };
    },
  });
}

/** Input of the effect `pattern.store`. */
const PatternStoreInput = z.object({
  error_signature: z.string(),
  error_type: z.string(),
  error_message: z.string(),
  solution_approach: z.string(),
  solution_code: z.string().optional(),
  tags: z.array(z.string()),
  /** Idempotency key: repeats count once. */
  once: z.string().min(1),
});

/**
 * `pattern.store` (repeatable because of `once`): stores an error and its solution in the actor's tenant. Result:
 * `{pattern_id, deduplicated, new_frequency}`.
 */
export function createPatternStore(memory: Pick<Patterns, 'store'>): EffectHandler<typeof PatternStoreInput> {
  return defineEffect({
    kind: 'pattern.store',
    input: PatternStoreInput,
    async run(input, { tenant }) {
      const { once, solution_code } = input;
      const pattern = {
        errorSignature: input.error_signature,
        errorType: input.error_type,
        errorMessage: input.error_message,
        solutionApproach: input.solution_approach,
        solutionCode: solution_code,
        tags: input.tags,
      };
      const { pattern_id, deduplicated, new_frequency } = await memory.store(tenant, pattern, { once });
      return { pattern_id, deduplicated, new_frequency };
    },
  });
}
