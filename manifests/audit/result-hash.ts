import type { ToolOutcome } from '../tool/call.ts';
import { canonicalHash } from './chain.ts';

/**
 * `result_hash` of a record: over what the caller, or the model, gets. Where the whole is stored aside, the SHA-256 with
 * which its reference begins stands for it; whom the stored bytes belong to does not count.
 */
export const resultHash = ({ content, structured, is_error, stored }: ToolOutcome): string =>
  canonicalHash({ content, structured: structured ?? null, is_error, stored: stored?.ref.split('.', 1)[0] ?? null });
