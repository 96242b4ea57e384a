import { execFile, execFileSync, type SpawnOptions } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freeRedisPort as freePort } from '../../test/support/redis.ts';
import { ServerProcess } from '../../test/support/server-process.ts';

const run = promisify(execFile);
const DEBIAN = '/usr/lib/postgresql';

export interface PostgresOptions {
  /** Folder of its programs. Default: the newest of Debian's package. */
  readonly programs?: string;
  /** `NAME=VALUE` each, beside those that keep it private. */
  readonly settings?: readonly string[];
}

export interface PostgresServer {
  readonly url: string;
  /** `PostgreSQL 15.1`. */
  readonly version: string;
  stop(): Promise<void>;
}

/**
 * A private PostgreSQL, by default from Debian's package: its own directory, a free port, loopback only, and its defaults
 * (fsync and synchronous_commit on). Rejects where it is not installed.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = options.programs ?? debianPrograms();
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-postgres-'));
  const owner = await ownerOf(directory);
  const data = join(directory, 'data');
  await run(join(programs, 'initdb'), ['-D', data, '-U', 'bench', '-A', 'trust', '--no-sync'], { ...owner, cwd: '/' });
  const port = await freePort();
  const own = ['listen_addresses=127.0.0.1', `unix_socket_directories=${directory}`, 'max_connections=200'];
  const settings = [...own, ...(options.settings ?? [])];
  const args = ['-D', data, '-p', `${port}`, ...settings.flatMap((setting) => ['-c', setting])];
  const spawned = { ...owner, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] } satisfies SpawnOptions;
  const server = new ServerProcess('PostgreSQL', join(programs, 'postgres'), args, spawned);
  const stop = async (): Promise<void> => {
    // Immediate shutdown: its children end too, and its data is removed.
    await server.end('SIGQUIT');
    await rm(directory, { recursive: true, force: true });
  };
  const ready = ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'bench', '-d', 'postgres'];
  try {
    await server.serves(() =>
      run(join(programs, 'pg_isready'), ready).then(
        () => true,
        () => false,
      ),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  const { stdout } = await run(join(programs, 'postgres'), ['--version']);
  const version = `PostgreSQL ${/\d+(\.\d+)*/.exec(stdout)?.[0] ?? ''}`;
  return { url: `postgresql://bench@127.0.0.1:${port}/postgres`, version, stop };
}

export function debianPrograms(): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const [newest] = versions;
  if (newest === undefined) throw new Error('PostgreSQL is not installed (Debian: apt-get install postgresql)');
  return join(DEBIAN, newest, 'bin');
}

/** PostgreSQL refuses to run as root, so its package's user runs it and owns the directory. */
async function ownerOf(directory: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }).trim());
  const owner = { uid: idOf('-u'), gid: idOf('-g') };
  await chown(directory, owner.uid, owner.gid);
  return owner;
}
