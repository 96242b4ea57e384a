import { spawnSync } from 'node:child_process';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
/** Set in the run that has its temporary files in memory. */
const IN_MEMORY = 'SVC_TEST_FILES_IN_MEMORY';
/** What a whole run leaves free on a small machine; its files take 2 GB at most. */
const FREE_BYTES = 8 * 2 ** 30;
/** The directory is the first argument. Where it cannot be mounted, the files are on the disk as before. */
const MOUNT = 'mount -t tmpfs -o mode=1777 tmpfs "$1"; shift; exec "$@"';

/**
 * Starts this program again with the directory of temporary files in memory, where that can be had: as root on Linux, in
 * a mount namespace that ends with the run. Nodes under test sync every commit, which on a disk takes a tenth of all
 * processor time and a third of the waiting. A process that is killed loses nothing either way. Answers when it stays.
 */
export function withFilesInMemory(): void {
  if (process.env[IN_MEMORY] !== undefined || process.platform !== 'linux' || process.getuid?.() !== 0) return;
  if (freemem() < FREE_BYTES || process.execve === undefined) return;
  // The mount would hide a checkout in the directory of temporary files.
  if ([ROOT, process.execPath].some((path) => path.startsWith(join(tmpdir(), '/')))) return;
  const tool = spawnSync('unshare', ['--mount', 'sh', '-c', 'command -v unshare'], { encoding: 'utf8' });
  const unshare = tool.stdout?.trim();
  if (tool.status !== 0 || unshare === '') return;
  const args = ['--mount', 'sh', '-c', MOUNT, 'sh', tmpdir(), process.execPath, ...process.execArgv];
  process.execve(unshare, ['unshare', ...args, ...process.argv.slice(1)], { ...process.env, [IN_MEMORY]: '1' });
}
