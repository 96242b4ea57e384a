import { z } from 'zod';
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

/** Limit of a pattern's elements with `x{n}` written out n times: the cost of its compilation. */
export const MAX_PATTERN_SIZE = 20_000;

/** Longer patterns are refused without measuring. */
const MAX_PATTERN_LENGTH = 4_096;

const ESCAPE = /\\(?:[pPx]\{[^}]*\}|[\s\S])/y;

const CLASS = /\[\^?\]?(?:\\[\s\S]|\[:\^?[a-z]+:\]|[^\]\\])*\]/y;

const COUNT = /\{(\d{1,6})(?:,(\d{0,6}))?\}/y;

/** Size of a pattern with its counted repetitions written out. An estimate that is never much too low. */
export function patternSize(pattern: string): number {
  if (pattern.length > MAX_PATTERN_LENGTH) return MAX_PATTERN_SIZE + pattern.length;
  const groups: number[] = [];
  let size = 0;
  let atom = 0;
  for (let at = 0; at < pattern.length; ) {
    const token = match(ESCAPE, pattern, at) ?? match(CLASS, pattern, at);
    const count = token === null ? match(COUNT, pattern, at) : null;
    const text = token?.[0] ?? count?.[0] ?? pattern.slice(at, at + 1);
    at += text.length;
    if (count !== null) {
      const times = Math.max(Number(count[1]), Number(count[2] ?? 0), 1);
      size += atom * (times - 1);
      atom *= times;
    } else if (text === '(') {
      groups.push(size);
      size = 0;
    } else if (text === ')') {
      atom = size;
      size += groups.pop() ?? 0;
    } else {
      atom = 1;
      size += 1;
    }
  }
  return groups.reduce((total, group) => total + group, size);
}

function match(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}
