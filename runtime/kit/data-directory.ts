import { access, constants, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SvcError } from '../errors.ts';
import { systemCode } from './system-code.ts';

/**
 * Creates a directory for data, readable for its user only. One that is there already must be writable. Throws errors of the
 * system, which `unusableDirectory` explains.
 */
export async function makeDataDirectory(path: string): Promise<void> {
  await makeDirectory(path);
  await access(path, constants.W_OK);
}

/** The error `invalid_config` that says why the directory cannot be used. `advice` says what to do. */
export function unusableDirectory(path: string, cause: unknown, advice: string): SvcError {
  if (cause instanceof SvcError) return cause;
  const code = systemCode(cause, 'unreadable');
  const why = REASONS[code] ?? 'it cannot be used';
  return new SvcError('invalid_config', `the data directory ${path}: ${why} (${code}); ${advice}`, { cause });
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: "this user's disk quota is used up",
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'there is a file of that name',
  ENOENT: 'it cannot be created there',
};

/**
 * Creates one level after the other: `mkdir` with `recursive` retries for ever where a file system has no directories
 * (/proc).
 */
async function makeDirectory(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; !(await isThere(at)); at = dirname(at)) missing.push(at);
  for (const directory of missing.reverse()) {
    try {
      await mkdir(directory, { mode: 0o700 });
    } catch (error) {
      // Another process of the same user may create it at the same time.
      if (!(await isDirectory(directory))) throw error;
    }
  }
  if (!(await isDirectory(path))) throw Object.assign(new Error('not a directory'), { code: 'EEXIST' });
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT' && dirname(path) !== path) return false;
    throw error;
  }
}

const isDirectory = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() ?? false;
};
