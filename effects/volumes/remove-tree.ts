import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { systemCode } from './file-failure.ts';

const run = promisify(execFile);

/**
 * Removes a directory with all that is in it; one that is not there is fine. Programs can make trees whose paths are longer
 * than any the system takes: those are left to `rm`, which goes down step by step.
 */
export async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENAMETOOLONG') throw thrown;
    // Another process has other descriptors.
    await run('/bin/rm', ['-rf', '--', directory.replace(/^\/proc\/self\//, `/proc/${process.pid}/`)]);
  }
}
