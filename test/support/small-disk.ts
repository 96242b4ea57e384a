import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const BYTES = 32 * 1024 * 1024;

/** A directory that a test can fill and free. */
export interface SmallDisk extends AsyncDisposable {
  readonly directory: string;
  /** Makes every further write of the process fail. */
  fill(pid: number): Promise<void>;
  free(pid: number): Promise<void>;
}

/** A file system of its own that runs full (ENOSPC). Null where this user may mount none. */
export async function smallFileSystem(): Promise<SmallDisk | null> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${BYTES}`, 'none', directory], { stdio: 'ignore' });
  } catch {
    await rm(directory, { recursive: true });
    return null;
  }
  const filler = join(directory, 'filler');
  return {
    directory,
    async fill() {
      await writeFile(filler, Buffer.alloc(BYTES)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOSPC') throw error;
      });
    },
    free: () => rm(filler),
    async [Symbol.asyncDispose]() {
      execFileSync('umount', ['--lazy', directory]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A limit on the size of each file of the process (RLIMIT_FSIZE, EFBIG). Null where it cannot be set. */
export async function limitedFiles(): Promise<SmallDisk | null> {
  const limit = (pid: number, soft: string): void => {
    execFileSync('prlimit', ['--pid', String(pid), `--fsize=${soft}:`], { stdio: 'ignore' });
  };
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' });
  } catch {
    return null;
  }
  const directory = await mkdtemp(join(tmpdir(), 'svc-disk-'));
  return {
    directory,
    fill: async (pid) => limit(pid, '4096'),
    free: async (pid) => limit(pid, 'unlimited'),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
