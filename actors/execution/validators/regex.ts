import { linearRegex } from '../../../manifests/linear-regex.ts';
import { LIMITS } from '../limits.ts';
import type { Complaint, IterationResult } from './verdict.ts';

/** Passes when the pattern is found anywhere in the target; anchors make it a whole match. */
export function checkRegex(result: IterationResult, pattern: string, target: 'stdout' | 'stderr'): Complaint {
  const text = result[target];
  if (text.length > LIMITS.validatedChars) {
    return `${target} has ${text.length} characters, at most ${LIMITS.validatedChars} are checked`;
  }
  return linearRegex(pattern).test(text) ? null : `${target} does not match ${pattern.slice(0, 300)}`;
}
