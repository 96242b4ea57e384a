import { z } from 'zod';

/** A solution of an error like the last one, as the next prompt shows it. Texts are bounded (`MEMORY`). */
export const Hint = z.object({
  pattern_id: z.string(),
  approach: z.string(),
  code: z.string().nullable(),
  /** 0 to 1. */
  score: z.number(),
});

export type Hint = z.infer<typeof Hint>;

/**
 * The awaited effect while no iteration is open: a query before the next iteration, or the storing of a pattern after the last.
 */
export const MemoryWait = z.discriminatedUnion('for', [
  z.object({ for: z.literal('hints'), effect_id: z.string(), code_diff: z.string() }),
  /** The accepted output completes the execution once its pattern is stored, or could not be. */
  z.object({ for: z.literal('stored'), effect_id: z.string(), output: z.string(), score: z.number() }),
]);

export type MemoryWait = z.infer<typeof MemoryWait>;

/** Limits of learned patterns. Chars are UTF-16 units. */
export const MEMORY = {
  /** Patterns in one prompt. */
  hints: 3,
  /** Minimum similarity of an error, 0 to 1, for its solution to be shown. */
  minSimilarity: 0.5,
  hintApproachChars: 2 * 1024,
  hintCodeChars: 2 * 1024,
  /** Section of hints in a prompt. */
  sectionChars: 12 * 1024,
  signatureChars: 1_000,
  diffChars: 1_500,
  /** Beginning of an accepted output, stored with its pattern. */
  outputChars: 4_000,
  /** One attempt of either effect. */
  attemptMs: 5_000,
  /** After this time without an answer the execution continues without memory. */
  waitMs: 10_000,
} as const;
