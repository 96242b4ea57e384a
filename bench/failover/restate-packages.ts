import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SERVER = '1.7.12';
const SDK = '1.17.2';
const FOLDER = new URL(`../../.cache/restate-${SERVER}-${SDK}`, import.meta.url).pathname;
const INSTALL_WITHIN_MS = 180_000;

export interface RestatePackages {
  /** Folder with the `node_modules` of Restate's SDK. */
  readonly folder: string;
  /** Path of the server's binary. */
  readonly server: string;
  /** `server 1.2.3, SDK 1.2.3`. */
  readonly versions: string;
}

/**
 * Restate's server and SDK, which are none of our packages: installed by npm on first use, kept under `.cache`. No
 * script of theirs is run. Rejects when npm cannot have them, or they have no server for this machine.
 */
export async function restatePackages(): Promise<RestatePackages> {
  if (!existsSync(FOLDER)) await install();
  const platform = `restate-server-${process.platform}-${process.arch}`;
  const server = join(FOLDER, 'node_modules', '@restatedev', platform, 'bin', 'restate-server');
  if (!existsSync(server)) throw new Error(`Restate has no server for ${process.platform} ${process.arch}`);
  return { folder: FOLDER, server, versions: `server ${SERVER}, SDK ${SDK}` };
}

/** Beside its place first: an install that broke off leaves nothing there. */
async function install(): Promise<void> {
  const beside = `${FOLDER}-${process.pid}`;
  await mkdir(beside, { recursive: true });
  try {
    await writeFile(join(beside, 'package.json'), '{"private": true}\n');
    const wanted = [`@restatedev/restate-server@${SERVER}`, `@restatedev/restate-sdk@${SDK}`];
    const args = ['install', '--prefix', beside, '--ignore-scripts', '--no-audit', '--no-fund', ...wanted];
    await promisify(execFile)('npm', args, { cwd: beside, timeout: INSTALL_WITHIN_MS });
    await rename(beside, FOLDER);
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}
