import { SvcError } from '../../runtime/errors.ts';
import { ToolFailure } from '../failure.ts';
import { defineTool, type Tool, type ToolCall } from '../tool.ts';
import { fsEdit, fsMultiEdit } from './contracts.ts';
import { applyEdits, changedLines, type Edit } from './edit.ts';
import { withFile } from './file-failure.ts';
import { checkFileBytes } from './file-size.ts';
import { checkRules, type FilePlace, type FilePorts, placeOf } from './places.ts';
import { readText } from './text-file.ts';

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
