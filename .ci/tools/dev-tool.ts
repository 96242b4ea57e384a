import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Programs that only check or generate sources (Biome, buf, ts-proto, Redocly). They weigh 235 MB, so a clone has them only once a
 * command needs them: `node .ci/tools/dev-tool.ts biome check .` installs what the lock file beside this says, and runs it.
 */
const HERE = import.meta.dirname;
const CACHE = join(HERE, '..', '..', '.cache');
const LOCK = 'package-lock.json';

/** Folder with the programs, installed by the first call. Throws with what npm said. */
export function devTools(): string {
  const digest = createHash('sha256')
    .update(readFileSync(join(HERE, LOCK)))
    .digest('hex');
  const installed = join(CACHE, `dev-tools-${digest.slice(0, 16)}`);
  if (!existsSync(installed)) install(installed);
  return join(installed, 'node_modules', '.bin');
}

/** Installs beside and then renames: a second call at the same time, or one that is cut off, leaves no half of it. */
function install(to: string): void {
  console.error('installing Biome, buf, ts-proto and Redocly, which this command needs (once)');
  mkdirSync(CACHE, { recursive: true });
  const beside = mkdtempSync(`${to}-`);
  try {
    for (const file of ['package.json', LOCK]) copyFileSync(join(HERE, file), join(beside, file));
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
    const { status, stdout, stderr, error } = spawnSync('npm', args, { cwd: beside, encoding: 'utf8' });
    if (status !== 0)
      throw new Error(`npm ci of the development tools failed:\n${stdout ?? ''}${stderr ?? ''}`, { cause: error });
    renameSync(beside, to);
  } catch (failed) {
    // Another call was first.
    if (!existsSync(to)) throw failed;
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}

/** Environment in which programs find the tools, as buf finds the plugin of ts-proto. */
export const withDevTools = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${devTools()}${delimiter}${process.env.PATH ?? ''}`,
});

if (import.meta.main) {
  const [name = '', ...args] = process.argv.slice(2);
  const { status, error } = spawnSync(join(devTools(), name), args, { stdio: 'inherit', env: withDevTools() });
  if (error !== undefined) throw error;
  process.exitCode = status ?? 1;
}
