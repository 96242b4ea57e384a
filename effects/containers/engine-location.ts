import { existsSync } from 'node:fs';
import { SvcError } from '../../runtime/errors.ts';

/** Where a Docker or Podman API listens. */
export type EngineLocation =
  | { readonly socketPath: string }
  | { readonly protocol: 'http' | 'https'; readonly host: string; readonly port: number };

export interface EngineSearch {
  /** `spec.runtime.container_socket_path`; goes before everything. */
  readonly configured?: string | undefined;
  /** Environment of the node: `DOCKER_HOST`, then `CONTAINER_HOST`; `XDG_RUNTIME_DIR` for rootless sockets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly exists?: (path: string) => boolean;
}

/** The engine to use; null when none is configured and no well-known socket exists. Throws `invalid_config`. */
export function findEngine({ configured, env, exists = existsSync }: EngineSearch): EngineLocation | null {
  if (configured !== undefined) return parseEngine(configured, 'spec.runtime.container_socket_path');
  for (const name of ['DOCKER_HOST', 'CONTAINER_HOST']) {
    const value = env[name];
    if (value !== undefined && value !== '') return parseEngine(value, name);
  }
  const runtime = env.XDG_RUNTIME_DIR;
  const known = [
    '/var/run/docker.sock',
    '/run/podman/podman.sock',
    ...(runtime === undefined ? [] : [`${runtime}/docker.sock`, `${runtime}/podman/podman.sock`]),
  ];
  const socketPath = known.find(exists);
  return socketPath === undefined ? null : { socketPath };
}

/** A path, `unix:///path`, `tcp://host:port`, `http://host:port` or `https://host:port`. */
function parseEngine(value: string, setting: string): EngineLocation {
  if (value.startsWith('/')) return { socketPath: value };
  if (value.startsWith('unix://')) return { socketPath: value.slice('unix://'.length) };
  const url = URL.parse(value);
  const protocol = { 'tcp:': 'http', 'http:': 'http', 'https:': 'https' } as const;
  const found = Object.entries(protocol).find(([name]) => name === url?.protocol);
  if (url === null || found === undefined || url.hostname === '') {
    throw new SvcError('invalid_config', `${setting}: expected a socket path, unix://, tcp://, http:// or https://`);
  }
  return { protocol: found[1], host: url.hostname, port: Number(url.port === '' ? 2_375 : url.port) };
}

export const nameOf = (at: EngineLocation): string =>
  'socketPath' in at ? at.socketPath : `${at.protocol}://${at.host}:${at.port}`;
