import { lstat, opendir } from 'node:fs/promises';
import { systemCode } from './file-failure.ts';

/**
 * Bytes of all files below a directory: the sum of their lengths, a file with several names once. Links are not
 * followed; what vanishes meanwhile does not count. `skip` leaves out entries by path below the directory.
 */
export async function usedBytes(directory: string, skip?: (path: string) => boolean): Promise<number> {
  const seen = new Set<string>();
  const waiting = [''];
  let bytes = 0;
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for await (const entry of entriesOf(`${directory}${below}`)) {
      const path = `${below}/${entry.name}`;
      if (skip?.(path) === true) continue;
      if (entry.isDirectory()) waiting.push(path);
      else if (entry.isFile()) bytes += await lengthOf(`${directory}${path}`, seen);
    }
  }
  return bytes;
}

async function* entriesOf(directory: string) {
  try {
    for await (const entry of await opendir(directory)) yield entry;
  } catch (thrown) {
    if (!isGone(thrown)) throw thrown;
  }
}

async function lengthOf(path: string, seen: Set<string>): Promise<number> {
  try {
    const { size, nlink, dev, ino } = await lstat(path);
    if (nlink === 1) return size;
    const key = `${dev}:${ino}`;
    if (seen.has(key)) return 0;
    seen.add(key);
    return size;
  } catch (thrown) {
    if (isGone(thrown)) return 0;
    throw thrown;
  }
}

/** Removed meanwhile, replaced by something else, or deeper than a path can be. */
const isGone = (thrown: unknown): boolean => ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(systemCode(thrown));
