import { lateLibrary } from '../../manifests/re2.ts';
import { keepHead } from './bounded-text.ts';
import { LIMITS } from './limits.ts';
import type { Attempt, Verdict } from './state.ts';

/**
 * Earlier failed attempts, newest first, with every validator's verdict. Attempts that do not fit are omitted, and a
 * line says how many.
 */
export function historySection(attempts: readonly Attempt[], lastOutput: string | null, maxChars: number): string {
  if (attempts.length === 0 || maxChars < 200) return '';
  const head = '## Earlier attempts\nNone of them was accepted. Correct what failed and give the whole answer again.';
  const parts = [head];
  let left = maxChars - head.length - 100;
  for (const [index, attempt] of attempts.toReversed().entries()) {
    const text = keepHead(attemptText(attempt, index === 0 ? lastOutput : null), Math.max(0, left));
    if (left < 200) {
      parts.push(`[${attempts.length - index} earlier attempts left out]`);
      break;
    }
    parts.push(text);
    left -= text.length + 2;
  }
  return parts.join('\n\n');
}

/** Value of the template variable `previous_error`; empty before the first failure. */
export function previousError(attempts: readonly Attempt[]): string {
  const last = attempts.at(-1);
  return last === undefined ? '' : failureText(last);
}

/** SVC_ITERATION_HISTORY (W26): a JSON array, oldest first. When it is too long the oldest are omitted. */
export function historyJson(attempts: readonly Attempt[]): string {
  for (let from = 0; from < attempts.length; from += 1) {
    const text = JSON.stringify(attempts.slice(from).map(historyEntry));
    if (Buffer.byteLength(text) <= LIMITS.environmentTextBytes) return text;
  }
  return '[]';
}

function historyEntry(attempt: Attempt) {
  const rejected = attempt.error_type === 'validation_failed';
  return {
    iteration: attempt.iteration,
    output: attempt.output,
    error: attempt.message,
    exit_code: attempt.exit_code,
    validation_failed: rejected,
    validation_reason: rejected ? attempt.message : null,
    feedback: failureText(attempt),
  };
}

function attemptText(attempt: Attempt, wholeOutput: string | null): string {
  const lines = [`### Attempt ${attempt.iteration}`, failureText(attempt)];
  const output = attempt.output === null ? null : (wholeOutput ?? attempt.output);
  if (output !== null) lines.push('Output:', output);
  return lines.join('\n');
}

function failureText(attempt: Attempt): string {
  // The rest of the message, such as what each judge wrote, is in the verdict.
  const message = attempt.verdicts.length === 0 ? attempt.message : attempt.message.split('\n', 1)[0];
  return [`${attempt.error_type}: ${message}`, ...attempt.verdicts.map(verdictText)].join('\n');
}

function verdictText(verdict: Verdict): string {
  return `- ${verdict.validator}: ${verdict.passed ? 'passed' : `failed: ${verdict.reason}`}`;
}

const diff = lateLibrary<typeof import('diff')>('diff');

/** After this number of edits two texts count as unrelated: a minimal diff would cost more than it is worth. */
const MAX_EDITS = 1_000;

/**
 * Unified diff of the last two outputs (`refinement_applied.code_diff`, W24). Empty when there is no earlier
 * output, no new one, or both are the same. Bounded in work and length.
 */
export function outputDiff(before: string | null, after: string | null): string {
  if (before === null || after === null || before === after) return '';
  const patch = diff().structuredPatch('previous', 'current', before, after, '', '', {
    context: 3,
    maxEditLength: MAX_EDITS,
  });
  const hunks = patch === undefined ? [replaced(before, after)] : patch.hunks.map(hunkText);
  return keepHead(['--- previous', '+++ current', ...hunks].join('\n'), LIMITS.diffChars);
}

function hunkText(hunk: {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}): string {
  // An empty range has the number of the line before it (GNU diff).
  const oldStart = hunk.oldLines === 0 ? hunk.oldStart - 1 : hunk.oldStart;
  const newStart = hunk.newLines === 0 ? hunk.newStart - 1 : hunk.newStart;
  const head = `@@ -${oldStart},${hunk.oldLines} +${newStart},${hunk.newLines} @@`;
  return [head, ...hunk.lines].join('\n');
}

/** One hunk that replaces the whole text. */
function replaced(before: string, after: string): string {
  const removed = before.split('\n');
  const added = after.split('\n');
  return [
    `@@ -1,${removed.length} +1,${added.length} @@`,
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
  ].join('\n');
}
