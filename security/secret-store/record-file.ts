import { randomUUID } from 'node:crypto';
import { lstat, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import { jsonOrNull } from '../../runtime/json.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';

/** Metadata of a secret, without its value. Times are ISO 8601. */
const SecretRecord = z.object({
  version: z.number().int().min(1),
  created_at: z.string(),
  updated_at: z.string(),
  updated_by: z.string(),
});
export type SecretRecord = z.output<typeof SecretRecord>;

/** The record in a file; null without one, as for a secret that was created by hand. */
export async function readRecord(path: string): Promise<SecretRecord | null> {
  const text = await orMissing(readFile(path, 'utf8'));
  if (text === null) return null;
  const read = SecretRecord.safeParse(jsonOrNull(text));
  return read.success ? read.data : null;
}

const DRAFT = '.draft';
/** Older drafts are leftovers: no write takes longer. */
const WRITTEN_WITHIN_MS = 60_000;

/** Writes a file of mode 0600 atomically and durably. */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const draft = join(dirname(path), `.${randomUUID()}${DRAFT}`);
  try {
    {
      await using file = await open(draft, 'wx', 0o600);
      await file.writeFile(content);
      await file.sync();
    }
    await rename(draft, path);
    await using directory = await open(dirname(path), 'r');
    await directory.sync();
  } catch (error) {
    // On a full disk an empty draft would remain.
    await rm(draft, { force: true });
    throw failed(error);
  }
}

/**
 * Deletes drafts of processes that were killed while writing, in a directory or (`recursive`) below it, since a draft contains a
 * value. `now` in Unix ms.
 */
export async function dropDrafts(directory: string, now: number, recursive: boolean): Promise<void> {
  const entries = (await orMissing(readdir(directory, { withFileTypes: true, recursive }))) ?? [];
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith(DRAFT)) continue;
    const draft = join(entry.parentPath, entry.name);
    const found = await orMissing(lstat(draft));
    // Another node may be writing to the same directory.
    if (found !== null && now - found.mtimeMs > WRITTEN_WITHIN_MS) await orMissing(rm(draft, { force: true }));
  }
}

/** Null when the file does not exist. */
export async function orMissing<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error))) return null;
    throw failed(error);
  }
}

export const isDirectory = async (path: string): Promise<boolean | null> =>
  (await orMissing(lstat(path)))?.isDirectory() ?? null;

/** An error with the code of the file system, without the path. */
export const failed = (cause: unknown): SvcError =>
  cause instanceof SvcError
    ? cause
    : new SvcError('unavailable', `the secrets cannot be reached (${systemCode(cause, 'unknown reason')})`, {
        store: 'secrets',
        cause,
      });
