import { z } from 'zod';
import { MAX_PATTERN_SIZE, patternSize } from './pattern-size.ts';
import { compileRe2 } from './re2.ts';

/** Why the linear-time engine cannot compile the pattern; null when it can. */
export function patternFault(pattern: string): string | null {
  if (patternSize(pattern) > MAX_PATTERN_SIZE)
    return `more than ${MAX_PATTERN_SIZE} elements with repetitions written out`;
  try {
    compileRe2(pattern);
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message.slice(0, 200) : 'it does not compile';
  }
}

/** A regular expression run by RE2 (linear time): look-around and back references do not exist there. */
export const pattern = z
  .string()
  .min(1)
  .max(4_096)
  .superRefine((text, context) => {
    const fault = patternFault(text);
    if (fault === null) return;
    const message = `expected a regular expression of RE2 syntax (no look-around, no back references): ${fault}`;
    context.addIssue({ code: 'custom', message });
  });
