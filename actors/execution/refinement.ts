import { lateLibrary } from '../../manifests/re2.ts';
import { keepHead } from './bounded-text.ts';
import { LIMITS } from './limits.ts';

const diff = lateLibrary<typeof import('diff')>('diff');

/** Edits after which two texts count as unrelated: finding a minimal diff would cost more than it tells. */
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
  // A range of no lines names the line before it (GNU diff).
  const oldStart = hunk.oldLines === 0 ? hunk.oldStart - 1 : hunk.oldStart;
  const newStart = hunk.newLines === 0 ? hunk.newStart - 1 : hunk.newStart;
  const head = `@@ -${oldStart},${hunk.oldLines} +${newStart},${hunk.newLines} @@`;
  return [head, ...hunk.lines].join('\n');
}

/** The whole of one text for the whole of the other. */
function replaced(before: string, after: string): string {
  const removed = before.split('\n');
  const added = after.split('\n');
  return [
    `@@ -1,${removed.length} +1,${added.length} @@`,
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
  ].join('\n');
}
