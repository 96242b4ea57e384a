import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const CACHE = join(ROOT, '.cache');

/** The last commit that writes format 1. */
export const FORMAT_1 = 'e8af7a2';

/** The last commit that writes format 2. */
export const FORMAT_2 = 'eefce0b';

/** The last commit that writes format 3. */
export const FORMAT_3 = '0108a6c3';

/** False when the source of the commit can be had; else why not. A checkout without its history cannot have it. */
export async function versionMissing(commit: string): Promise<string | false> {
  try {
    await run('git', ['-C', ROOT, 'cat-file', '-e', `${commit}^{commit}`]);
    return false;
  } catch {
    const reason = `the source of ${commit} is not in this checkout's history: tests beside that version are skipped`;
    process.stderr.write(`SKIPPED: ${reason} (git fetch --unshallow)\n`);
    return reason;
  }
}

/** `main.ts` of the product as it was at that commit, with the dependencies of today. Unpacked once. */
export async function mainOfVersion(commit: string): Promise<string> {
  const directory = join(CACHE, `version-${commit}`);
  const main = join(directory, 'main.ts');
  const isThere = await access(main).then(
    () => true,
    () => false,
  );
  if (isThere) return main;
  await mkdir(CACHE, { recursive: true });
  const draft = await mkdtemp(join(CACHE, `version-${commit}-`));
  await run('git', ['-C', ROOT, 'archive', '--output', join(draft, 'source.tar'), commit]);
  await run('tar', ['-xf', join(draft, 'source.tar'), '-C', draft]);
  await rm(join(draft, 'source.tar'));
  await symlink(join(ROOT, 'node_modules'), join(draft, 'node_modules'), 'dir');
  // Another test file may have been faster.
  await rename(draft, directory).catch(() => rm(draft, { recursive: true, force: true }));
  return main;
}
