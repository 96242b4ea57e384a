import { ToolFailure } from '../failure.ts';
import { withFile } from './file-failure.ts';
import type { FilePlace, FilePorts } from './places.ts';

/** Largest file that is read whole (original-facts 6.4). */
export const FILE_BYTES = 10 * 1024 * 1024;

/** A file as text, and the bytes it was. Throws `ToolFailure` `BinaryFile`, `FileTooLarge`, `NOT_FOUND`, … */
export async function readText(
  { files }: FilePorts,
  tenant: string,
  { path, volumeId, inVolume }: FilePlace,
): Promise<{ readonly text: string; readonly bytes: Buffer }> {
  const bytes = await withFile(path, () => files.read(tenant, volumeId, inVolume, FILE_BYTES));
  const text = textOf(bytes);
  if (text !== null) return { text, bytes };
  throw new ToolFailure('BinaryFile', `${path} is not text (${bytes.length} bytes): read it with a command instead`);
}

/** Null for bytes that are no UTF-8, or hold NUL: an edit of them would change what it does not mean to. */
function textOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
