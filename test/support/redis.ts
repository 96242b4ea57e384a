import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { ServerProcess } from './server-process.ts';

/** A redis-server of the test's own: private directory, free port, loopback only. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly directory: string;
  /** Stops it and removes its directory. */
  stop(): Promise<void>;
  /** kill -9; keeps the directory, which `restart` reads. */
  kill(): Promise<void>;
  /** Starts it again on the same port and directory. */
  restart(): Promise<void>;
}

export interface RedisServerOptions {
  readonly appendfsync?: 'always' | 'everysec';
  readonly port?: number;
  /** More `redis-server` arguments. */
  readonly args?: readonly string[];
}

/** Null when a redis-server can be started, else the reason to skip. With CI=true a missing server is an error. */
export function redisMissing(): string | null {
  if (hasRedis() || (process.getuid?.() === 0 && installRedis() && hasRedis())) return null;
  const reason = 'redis-server is not installed: tests on Redis are skipped (Debian: apt-get install redis-server)';
  if (process.env.CI === 'true') throw new Error(reason);
  console.error(`SKIPPED: ${reason}`);
  return reason;
}

function hasRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function installRedis(): boolean {
  try {
    execFileSync('apt-get', ['install', '-y', 'redis-server'], { stdio: 'ignore', timeout: 180_000 });
    return true;
  } catch (error) {
    console.error(`apt-get install redis-server failed: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}

/** A free port whose cluster bus port (+10,000) is free too, and below those that systems give to connections. */
export const freeRedisPort = (): Promise<number> => freePort(10_000);

export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const port = options.port ?? (await freePort());
  const directory = await mkdtemp(join(tmpdir(), 'svc-redis-'));
  const args = serverArgs(port, directory, options);
  let server = await launch(args, port);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    directory,
    get pid() {
      return server.pid;
    },
    async stop() {
      await server.end('SIGTERM');
      await rm(directory, { recursive: true, force: true });
    },
    kill: () => server.end(),
    async restart() {
      await server.end();
      server = await launch(args, port);
    },
  };
}

function serverArgs(port: number, directory: string, options: RedisServerOptions): string[] {
  const fixed = ['--bind', '127.0.0.1', '--port', String(port), '--dir', directory, '--save', ''];
  const durable = ['--appendonly', 'yes', '--appendfsync', options.appendfsync ?? 'everysec'];
  return [...fixed, ...durable, '--loglevel', 'warning', ...(options.args ?? [])];
}

async function launch(args: readonly string[], port: number): Promise<ServerProcess> {
  const server = new ServerProcess(`redis-server on port ${port}`, 'redis-server', args);
  await server.serves(() => answersPing(port));
  return server;
}

async function answersPing(port: number): Promise<boolean> {
  const probe = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    retryStrategy: () => null,
    disableClientInfo: true,
  });
  probe.on('error', () => {});
  try {
    await probe.connect();
    return (await probe.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    probe.disconnect();
  }
}
