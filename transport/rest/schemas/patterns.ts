import { z } from 'zod';
import { nextPageField, pageFields, shareField, skipField, telling } from './fields.ts';

const MOST = 100;

export const PatternsQuery = z.object({
  error_signature: telling(4_096).optional().describe('Finds what solved errors like it; without it all are listed.'),
  error_type: telling(200).optional().describe('Only of this type, whatever its case.'),
  min_success_score: shareField
    .optional()
    .describe('Only those that succeeded so often, 0 to 1. Counts with error_signature only.'),
  ...pageFields(10, MOST),
  skip: skipField.describe('Counts without error_signature only, as page_token does.'),
});
export const MOST_PATTERNS = MOST;

export const MemoryPattern = z.object({
  pattern_id: z.string(),
  error_signature: z.string(),
  error_type: z.string(),
  solution_approach: z.string(),
  solution_code: z.string().optional(),
  success_score: z.number().describe('0 to 1; halved by each half life since it was stored last.'),
  frequency: z.number().int().describe('How often it was stored.'),
});
export const MemoryPatternList = z.object({ patterns: z.array(MemoryPattern), ...nextPageField });

/** Body of POST /v1/cortex/patterns: the fields of StoreMemoryPattern (spec 1). */
export const StorePatternBody = z.object({
  error_signature: telling(4_096),
  error_type: telling(200),
  error_message: z.string().max(16_384).default(''),
  solution_approach: telling(16_384),
  solution_code: z.string().max(65_536).optional(),
  tags: z.array(telling(100)).max(32).default([]),
});

export const StorePatternAnswer = z.object({
  pattern_id: z.string(),
  deduplicated: z.boolean().describe('A pattern that means the same was there; it gained weight instead.'),
  new_frequency: z.number().int(),
});
