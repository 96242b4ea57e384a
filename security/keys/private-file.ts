import { randomUUID } from 'node:crypto';
import { link, mkdir, open, rename, rm, stat, unlink } from 'node:fs/promises';
import { SvcError } from '../../runtime/errors.ts';

const MAX_FILE_BYTES = 64 * 1024;
const OTHERS_MAY = 0o077;
/** What file systems without hard links answer. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** Makes the directory, mode 0700. Throws `invalid_config` when it is there and others may look into it. */
export async function makePrivateDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unusable(directory, `it cannot be made (${codeOf(error)})`);
  });
  const found = await stat(directory);
  if ((found.mode & OTHERS_MAY) !== 0) throw unusable(directory, 'the mode of the directory must be 0700');
}

/**
 * The text of a private file, or null when there is none. Throws `invalid_config` naming the file, never its content,
 * when it cannot be read or group or others can.
 */
export async function readPrivateFile(path: string): Promise<string | null> {
  try {
    await using file = await open(path, 'r');
    const found = await file.stat();
    if (!found.isFile()) throw unusable(path, 'it is not a regular file');
    if ((found.mode & OTHERS_MAY) !== 0) throw unusable(path, 'the mode of the file must be 0600');
    if (found.size > MAX_FILE_BYTES) throw unusable(path, `it is larger than ${MAX_FILE_BYTES} bytes`);
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof SvcError) throw error;
    const code = codeOf(error);
    if (code === 'ENOENT') return null;
    throw unusable(path, `it cannot be read (${code})`);
  }
}

/**
 * Makes a private file, mode 0600, whole or not at all. False when there is one already, which stays as it is: of two
 * processes that make it at once, one wins and both find the same.
 */
export async function makePrivateFile(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await using file = await open(draft, 'wx', 0o600);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    // Of a full disk an empty draft would stay.
    await rm(draft, { force: true });
    throw unusable(path, `it cannot be written (${codeOf(error)})`);
  }
  return publish(draft, path);
}

/** A hard link fails where the name is taken; a rename would replace what another process already uses. */
async function publish(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
  } catch (error) {
    const code = codeOf(error);
    if (NO_LINKS.includes(code)) {
      await rename(draft, path);
      return true;
    }
    await unlink(draft);
    if (code === 'EEXIST') return false;
    throw unusable(path, `it cannot be written (${code})`);
  }
  await unlink(draft);
  return true;
}

/** An error that names a file of keys and says what is wrong with it. */
export const unusable = (path: string, why: string): SvcError => new SvcError('invalid_config', `${path}: ${why}`);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
