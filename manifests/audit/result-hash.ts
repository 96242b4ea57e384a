import type { ToolOutcome } from '../tool/call.ts';
import { canonicalHash } from './chain.ts';

/**
 * `result_hash` of a record: over what the caller, or the model, gets. Where the whole is stored aside its reference, a
 * SHA-256, stands for it.
 */
export const resultHash = ({ content, structured, is_error, stored }: ToolOutcome): string =>
  canonicalHash({ content, structured: structured ?? null, is_error, stored: stored?.ref ?? null });
