import { SvcError } from '../../runtime/errors.ts';
import { defineTool, type Tool, type ToolCall, ToolFailure } from '../tool.ts';
import { fsEdit, fsMultiEdit } from './contracts.ts';
import { checkRules, type FilePlace, type FilePorts, placeOf } from './places.ts';
import { checkFileBytes, readText, withFile } from './text-file.ts';

/** Others may write the same file: an edit that still fits is made on what they left. */
const ATTEMPTS = 5;

export function editTools(ports: FilePorts): Tool[] {
  return [
    defineTool(fsEdit, async ({ path, ...edit }, call) => {
      const at = await editFile(ports, call, path, [edit]);
      const { removed, added } = changedLines([edit]);
      return { text: `Edited ${at}: 1 replacement, ${removed} lines became ${added}.` };
    }),
    defineTool(fsMultiEdit, async ({ path, edits }, call) => {
      const at = await editFile(ports, call, path, edits);
      return { text: `Edited ${at}: ${edits.length} edits applied.` };
    }),
  ];
}

/** All edits or none: the file is replaced in one step, and only while it still holds what was read. */
async function editFile(ports: FilePorts, call: ToolCall, given: string, edits: readonly Edit[]): Promise<string> {
  const { tenant, run } = call;
  const place = await placeOf(ports, call, given, 'write');
  checkRules(ports, run.scope, place.path, 'read');
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const { text, bytes } = await readText(ports, tenant, place);
    const content = Buffer.from(applyEdits(text, edits));
    checkFileBytes(run, place.path, content.length);
    if (await replaced(ports, tenant, place, content, bytes)) return place.path;
    call.signal.throwIfAborted();
  }
  throw new ToolFailure('FileChanged', `${place.path} is being changed by others all the time: try again later`);
}

async function replaced(
  { files }: FilePorts,
  tenant: string,
  { path, volumeId, inVolume }: FilePlace,
  content: Uint8Array,
  expected: Uint8Array,
): Promise<boolean> {
  return withFile(path, async () => {
    try {
      await files.write(tenant, volumeId, inVolume, content, { expected, byTool: true });
      return true;
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.code === 'conflict') return false;
      throw thrown;
    }
  });
}

interface Edit {
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
function changedLines(edits: readonly Edit[]): { readonly removed: number; readonly added: number } {
  const lines = (text: string): number => (text === '' ? 0 : text.split('\n').length);
  return {
    removed: edits.reduce((sum, { target_content }) => sum + lines(target_content), 0),
    added: edits.reduce((sum, { replacement_content }) => sum + lines(replacement_content), 0),
  };
}
