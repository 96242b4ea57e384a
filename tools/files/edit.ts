import { ToolFailure } from '../failure.ts';

export interface Edit {
  readonly target_content: string;
  readonly replacement_content: string;
}

const SHOWN_CHARS = 80;

/** The text after all edits, each applied to what the one before left. Throws `ToolFailure` naming the one that does not fit. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let now = text;
  for (const [index, edit] of edits.entries()) {
    now = applyEdit(now, edit, edits.length === 1 ? '' : `edits[${index}]: `);
  }
  return now;
}

function applyEdit(text: string, { target_content, replacement_content }: Edit, which: string): string {
  const at = text.indexOf(target_content);
  const target = JSON.stringify(target_content.slice(0, SHOWN_CHARS));
  if (at === -1) {
    const advice = 'read the file and copy the text as it is';
    throw new ToolFailure('TextNotFound', `${which}target_content ${target} is not in the file: ${advice}`);
  }
  // Overlapping ones count too: which of them is meant is just as unclear.
  if (text.indexOf(target_content, at + 1) !== -1) {
    const advice = 'make it longer, so that it is there exactly once';
    throw new ToolFailure('TextNotUnique', `${which}target_content ${target} is in the file more than once: ${advice}`);
  }
  return `${text.slice(0, at)}${replacement_content}${text.slice(at + target_content.length)}`;
}

/** Lines that a change took away and added, for a short summary. */
export function changedLines(edits: readonly Edit[]): { readonly removed: number; readonly added: number } {
  const lines = (text: string): number => (text === '' ? 0 : text.split('\n').length);
  return {
    removed: edits.reduce((sum, { target_content }) => sum + lines(target_content), 0),
    added: edits.reduce((sum, { replacement_content }) => sum + lines(replacement_content), 0),
  };
}
