import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Path and content of each file below the directory of a node that runs. The node renames and removes files meanwhile: a
 * file that is gone before it is read is skipped; every other error is thrown.
 */
export async function* liveFiles(directory: string): AsyncGenerator<readonly [path: string, content: Buffer]> {
  for (const entry of await unlessGone(readdir(directory, { withFileTypes: true }), (): Dirent[] => [])) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* liveFiles(path);
    else if (entry.isFile()) {
      const content = await unlessGone(readFile(path), () => null);
      if (content !== null) yield [path, content];
    }
  }
}

/** What was read; `gone()` when there is no such file or directory any more. */
export async function unlessGone<T, G>(reading: Promise<T>, gone: () => G): Promise<T | G> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return gone();
    throw error;
  }
}
