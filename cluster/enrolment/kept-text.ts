import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MANAGED_CONFIG_BYTES } from '../../manifests/node/managed.ts';
import { SvcError } from '../../runtime/errors.ts';

/** The text of the file, or null when there is none. */
export async function keptText(path: string): Promise<string | null> {
  try {
    const bytes = await readFile(path);
    if (bytes.length > MANAGED_CONFIG_BYTES) throw new Error(`larger than ${MANAGED_CONFIG_BYTES} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Replaces the file in one step: after a crash it holds the old text or the new one. Throws `unavailable`. */
export async function keepText(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  try {
    await writeFile(draft, text, { mode: 0o600, flush: true });
    await rename(draft, path);
    await syncDirectory(dirname(path));
  } catch (cause) {
    // The cause is what is told; a draft that stays is written over by the next one.
    await rm(draft, { force: true }).catch(() => undefined);
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw new SvcError('unavailable', `the configuration cannot be kept in the data directory (${code})`, { cause });
  }
}

/** Without it the rename itself may be lost with the power. */
async function syncDirectory(path: string): Promise<void> {
  let directory: FileHandle | undefined;
  try {
    directory = await open(path, 'r');
    await directory.sync();
  } finally {
    await directory?.close();
  }
}
