import type { StdioOptions } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeRedisPort as freePort } from '../../test/support/redis.ts';
import { ServerProcess } from '../../test/support/server-process.ts';

export interface RestateServer {
  /** Base URL where workflows are called. */
  readonly ingress: string;
  /** Base URL where workers are registered. */
  readonly admin: string;
  stop(): Promise<void>;
}

/** `$0`: what stands for /etc/resolv.conf; the rest is run in the place of this shell. */
const ISOLATED = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';

/** A private Restate server: its own directory, free ports, loopback only, no telemetry. */
export async function startRestateServer(binary: string, settings: NodeJS.ProcessEnv): Promise<RestateServer> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-restate-'));
  const [fabric, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  const env = {
    PATH: process.env.PATH,
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_IP: '127.0.0.1',
    RESTATE_ADVERTISED_HOST: '127.0.0.1',
    RESTATE_BIND_PORT: `${fabric}`,
    RESTATE_INGRESS__BIND_PORT: `${ingress}`,
    RESTATE_ADMIN__BIND_PORT: `${admin}`,
    DO_NOT_TRACK: '1',
    RESTATE_LOG_FILTER: 'error,octocrab=off',
    ...settings,
  };
  // It would look up its newest release in the internet. In a mount namespace of its own its only name server is loopback.
  const resolver = join(directory, 'resolv.conf');
  await writeFile(resolver, 'nameserver 127.0.0.1\n');
  const command = [resolver, binary, '--no-logo', '--base-dir', directory];
  const stdio: StdioOptions = ['ignore', 'ignore', 'inherit'];
  const args = ['--map-root-user', '--mount', 'sh', '-c', ISOLATED, ...command];
  const server = new ServerProcess('Restate', 'unshare', args, { env, stdio });
  const stop = async (): Promise<void> => {
    await server.end();
    await rm(directory, { recursive: true, force: true });
  };
  const urls = { ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` };
  const health = [`${urls.admin}/health`, `${urls.ingress}/restate/health`];
  try {
    await server.serves(async () => (await Promise.all(health.map(answers))).every(Boolean));
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...urls, stop };
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  );
}
