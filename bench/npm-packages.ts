import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** Directory of packages that are not dependencies; git ignores it. */
export const CACHE = new URL('../.cache/', import.meta.url).pathname;
const INSTALL_WITHIN_MS = 180_000;

/**
 * Folder in the cache with `node_modules` of these packages (`NAME@VERSION`): npm installs them on first use,
 * without running their scripts. Rejects when npm cannot get them.
 */
export async function npmPackages(name: string, wanted: readonly string[]): Promise<string> {
  const folder = join(CACHE, name);
  if (!existsSync(folder)) await install(folder, wanted);
  return folder;
}

/** Installed into another directory first, so that an interrupted install leaves nothing. */
async function install(folder: string, wanted: readonly string[]): Promise<void> {
  const beside = `${folder}-${process.pid}`;
  await mkdir(beside, { recursive: true });
  try {
    await writeFile(join(beside, 'package.json'), '{"private": true}\n');
    const args = ['install', '--prefix', beside, '--ignore-scripts', '--no-audit', '--no-fund', ...wanted];
    await promisify(execFile)('npm', args, { cwd: beside, timeout: INSTALL_WITHIN_MS });
    await rename(beside, folder);
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}

/** Loads a package of such a folder; the caller gives its type, since its types are not installed. */
export async function importFrom<Module>(folder: string, name: string): Promise<Module> {
  const entry = createRequire(join(folder, 'package.json')).resolve(name);
  const module: Module = await import(pathToFileURL(entry).href);
  return module;
}
