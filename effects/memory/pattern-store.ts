import { z } from 'zod';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import type { PatternMemory } from './api.ts';

/** Input of the effect `pattern.store`. */
const PatternStoreInput = z.object({
  error_signature: z.string(),
  error_type: z.string(),
  error_message: z.string(),
  solution_approach: z.string(),
  solution_code: z.string().optional(),
  tags: z.array(z.string()),
  /** A repeat under the same key counts once. */
  once: z.string().min(1),
});

/**
 * `pattern.store` (repeatable: `once` makes it so): an error and what solved it, in the asking actor's tenant. Answers
 * `{pattern_id, deduplicated, new_frequency}`.
 */
export function createPatternStore(memory: Pick<PatternMemory, 'store'>): EffectHandler<typeof PatternStoreInput> {
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
        ...(solution_code === undefined ? {} : { solutionCode: solution_code }),
        tags: input.tags,
      };
      const { pattern_id, deduplicated, new_frequency } = await memory.store(tenant, pattern, { once });
      return { pattern_id, deduplicated, new_frequency };
    },
  });
}
