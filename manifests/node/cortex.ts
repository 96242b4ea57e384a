import { z } from 'zod';

/** Scores of catalog search from meanings as a model sees them (docs/search.md). */
const Embeddings = z.strictObject({
  /** An alias of `spec.llm_providers` whose model makes embeddings. */
  alias: z.string().min(1).max(100),
  /** Of the blended score: how much the vectors count; what the words say is the rest. */
  weight: z.number().min(0).max(1).default(0.7),
  /** For one call; after it the words alone decide. */
  timeout_secs: z.number().min(0.01).max(300).default(10),
  /** Vectors of this length, for models that can shorten theirs. */
  dimensions: z.number().int().min(1).max(16_384).optional(),
  /**
   * Cosines of texts that have nothing and everything in common; between them the score goes from 0 to 1. Models differ:
   * many give 0.2 and more to any two texts of one language.
   */
  cosine_floor: z.number().min(-1).max(0.99).default(0.2),
  cosine_ceiling: z.number().min(0).max(1).default(0.8),
});

const Search = z.strictObject({
  /** Agents or workflows of one tenant that are searched; the newest when there are more. */
  max_entries: z.number().int().min(1).max(1_000_000).default(100_000),
  /** Entries of all tenants that are kept in memory; the tenants that were asked for longest ago go first. */
  max_entries_in_memory: z.number().int().min(1).max(10_000_000).default(200_000),
});

/** Learned patterns: errors and what solved them (docs/memory.md). */
const Patterns = z.strictObject({
  /** Likeness, 0 to 1, from which two patterns count as one. */
  dedup_threshold: z.number().min(0).max(1).default(0.85),
  /** After this time without use a pattern counts half. */
  half_life_days: z.number().min(0.01).max(36_500).default(30),
  /** Beyond it the weakest make room. */
  max_per_tenant: z.number().int().min(1).max(10_000_000).default(100_000),
});

/** `spec.cortex`: search over the catalog and learned patterns (decided.md). Off: both answer `Cortex not configured`. */
export const NodeCortex = z.strictObject({
  enabled: z.boolean().default(true),
  embeddings: Embeddings.refine((at) => at.cosine_floor < at.cosine_ceiling, {
    error: 'expected cosine_floor below cosine_ceiling',
  }).optional(),
  search: Search.prefault({}),
  patterns: Patterns.prefault({}),
});
export type NodeCortex = z.output<typeof NodeCortex>;
