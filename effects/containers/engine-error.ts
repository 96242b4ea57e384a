import { existsSync } from 'node:fs';
import { SvcError } from '../../runtime/errors.ts';

const LONGEST_REASON_CHARS = 500;

/** The engine answered with an error status. */
interface EngineRefusal {
  readonly statusCode: number;
  readonly reason: string;
}

/** What the engine said, when it said anything; null for a connection that failed. */
export function refusalOf(thrown: unknown): EngineRefusal | null {
  if (!(thrown instanceof Error) || !('statusCode' in thrown) || typeof thrown.statusCode !== 'number') return null;
  const reason = thrown.message.replace(/^\(HTTP code \d+\) [^-]* - /, '').trim();
  return { statusCode: thrown.statusCode, reason: reason.slice(0, LONGEST_REASON_CHARS) };
}

export const isStatus = (thrown: unknown, ...codes: number[]): boolean =>
  codes.includes(refusalOf(thrown)?.statusCode ?? 0);

/** The engine does not have the container; Podman says so with 500 when it goes while it is looked at. */
export function isGone(thrown: unknown): boolean {
  const refusal = refusalOf(thrown);
  return refusal !== null && (refusal.statusCode === 404 || /no such container/i.test(refusal.reason));
}

/** No answer at all: the engine is down, restarts, or the connection broke. The call may have happened. */
export function isUnreachable(thrown: unknown): boolean {
  if (thrown instanceof SvcError || refusalOf(thrown) !== null) return false;
  if (!(thrown instanceof Error)) return false;
  if (thrown.name === 'AbortError' || thrown.name === 'TimeoutError') return true;
  return 'code' in thrown && typeof thrown.code === 'string';
}

/** Exit code as a shell tells it, where the engine's reason shows which. */
function startExitCode(reason: string): number | null {
  if (/executable file not found|no such file or directory|command not found|not found in/i.test(reason)) return 127;
  if (/permission denied|exec format error|is a directory/i.test(reason)) return 126;
  return null;
}

/** What catatonit (Podman) and tini (Docker) write when they cannot execute the command, as the only line there is. */
const INIT_FAILURE =
  /^(?:ERROR \(catatonit:\d+\): failed to exec pid1|\[FATAL tini \(\d+\)\] exec .{1,4096} failed): (.+)\n$/;

const INIT_EXIT_CODES: readonly number[] = [1, 126, 127];

/**
 * The reason why the engine's init could not execute the command; null when the command ran. With an init the container
 * starts although its command does not exist: only the init's exit code and its one line of stderr show it.
 */
export function initFailure(exitCode: number, stdoutBytes: number, stderr: string): string | null {
  if (!INIT_EXIT_CODES.includes(exitCode) || stdoutBytes > 0) return null;
  return INIT_FAILURE.exec(stderr)?.[1] ?? null;
}

/** A container that could not be created or started: the engine's reason, with 126 or 127 where it tells. */
export function containerFailed(reason: string, cause?: unknown): SvcError {
  const code = startExitCode(reason);
  const exit = code === null ? '' : ` (exit code ${code})`;
  return new SvcError('container_failed', `the container could not be started${exit}: ${reason}`, { cause });
}

/** Where a Docker or Podman API listens. */
export type EngineLocation =
  | { readonly socketPath: string }
  | { readonly protocol: 'http' | 'https'; readonly host: string; readonly port: number };

interface EngineSearch {
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
