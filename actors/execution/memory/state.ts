import { z } from 'zod';

/** What solved an error like the last one, as the next prompt shows it. Texts are bounded (limits.ts). */
export const Hint = z.object({
  pattern_id: z.string(),
  approach: z.string(),
  code: z.string().nullable(),
  /** 0 to 1. */
  score: z.number(),
});
export type Hint = z.infer<typeof Hint>;

/** Between two iterations, or behind the last: what of the learned patterns is waited for. */
export const MemoryWait = z.discriminatedUnion('for', [
  z.object({ for: z.literal('hints'), effect_id: z.string(), code_diff: z.string() }),
  /** The accepted output completes the execution once its pattern is stored, or cannot be. */
  z.object({ for: z.literal('stored'), effect_id: z.string(), output: z.string(), score: z.number() }),
]);
export type MemoryWait = z.infer<typeof MemoryWait>;
