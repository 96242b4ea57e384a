import { randomUUID } from 'node:crypto';
import { lstat, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';

/** What is kept beside a secret; never its value. Times are ISO 8601. */
const SecretRecord = z.object({
  version: z.number().int().min(1),
  created_at: z.string(),
  updated_at: z.string(),
  updated_by: z.string(),
});
export type SecretRecord = z.output<typeof SecretRecord>;

/** The record in a file; null when there is none, as for what somebody put there by hand. */
export async function readRecord(path: string): Promise<SecretRecord | null> {
  const text = await orMissing(readFile(path, 'utf8'));
  if (text === null) return null;
  const read = SecretRecord.safeParse(parsed(text));
  return read.success ? read.data : null;
}

const DRAFT = '.draft';
/** No write takes longer. */
const WRITTEN_WITHIN_MS = 60_000;

/** Writes a file of mode 0600 that is there whole or not at all, also after a power failure. */
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
    // Of a full disk an empty draft would stay.
    await rm(draft, { force: true });
    throw failed(error);
  }
}

/**
 * Removes what a process that was killed while it wrote left in a directory, or (`recursive`) below it: a draft holds a
 * value. `now` in Unix ms.
 */
export async function dropDrafts(directory: string, now: number, recursive: boolean): Promise<void> {
  const entries = (await orMissing(readdir(directory, { withFileTypes: true, recursive }))) ?? [];
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith(DRAFT)) continue;
    const draft = join(entry.parentPath, entry.name);
    const found = await orMissing(lstat(draft));
    // Another node may be writing in the same store now.
    if (found !== null && now - found.mtimeMs > WRITTEN_WITHIN_MS) await orMissing(rm(draft, { force: true }));
  }
}

/** Null when there is nothing of that name. */
export async function orMissing<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null;
    throw failed(error);
  }
}

export const isDirectory = async (path: string): Promise<boolean | null> =>
  (await orMissing(lstat(path)))?.isDirectory() ?? null;

/** The file system's word, without the path, which is the node's own business. */
export const failed = (cause: unknown): SvcError =>
  cause instanceof SvcError
    ? cause
    : new SvcError('unavailable', `the secrets cannot be reached (${codeOf(cause)})`, { store: 'secrets', cause });

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Cut short by hand: read as none.
    return null;
  }
}
