import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CACHE, npmPackages } from '../npm-packages.ts';

const CLI = 'v1.5.1';
const SDK = '1.24.0';
const BUILD_WITHIN_MS = 900_000;

export interface TemporalPackages {
  /** Folder with the `node_modules` of Temporal's SDK. */
  readonly folder: string;
  /** Path of its command line tool, which has the development server. */
  readonly cli: string;
  readonly versions: string;
}

/** Temporal's SDK by npm, its server from the Go module: minutes on first use. Rejects when they cannot be had. */
export async function temporalPackages(): Promise<TemporalPackages> {
  const wanted = ['worker', 'client', 'workflow', 'activity'].map((name) => `@temporalio/${name}@${SDK}`);
  const folder = await npmPackages(`temporal-sdk-${SDK}`, wanted);
  const cli = join(CACHE, `temporal-cli-${CLI}`, 'temporal');
  if (!existsSync(cli)) await build(cli);
  return { folder, cli, versions: `CLI ${CLI}, SDK ${SDK}` };
}

/** Newer ones need a module that the Go proxy does not have. */
async function build(cli: string): Promise<void> {
  const beside = join(CACHE, `temporal-build-${process.pid}`);
  const module = 'github.com/temporalio/cli/cmd/temporal';
  await mkdir(beside, { recursive: true });
  try {
    await writeFile(join(beside, 'go.mod'), 'module temporal-build\n\ngo 1.25\n');
    const options = { cwd: beside, timeout: BUILD_WITHIN_MS };
    await promisify(execFile)('go', ['get', `${module}@${CLI}`], options);
    await promisify(execFile)('go', ['build', '-o', 'temporal', module], options);
    await mkdir(join(cli, '..'), { recursive: true });
    await rename(join(beside, 'temporal'), cli);
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}
