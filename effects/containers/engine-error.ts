import { existsSync } from 'node:fs';
import { SvcError } from '../../runtime/errors.ts';
import { isInstalled } from '../../runtime/kit/optional-packages.ts';

const LONGEST_REASON_CHARS = 500;

/** The engine answered with an error status. */
interface EngineRefusal {
  readonly statusCode: number;
  readonly reason: string;
}

/** The error answer of the engine; null for a failed connection. */
export function refusalOf(thrown: unknown): EngineRefusal | null {
  if (!(thrown instanceof Error) || !('statusCode' in thrown) || typeof thrown.statusCode !== 'number') return null;
  const reason = thrown.message.replace(/^\(HTTP code \d+\) [^-]* - /, '').trim();
  return { statusCode: thrown.statusCode, reason: reason.slice(0, LONGEST_REASON_CHARS) };
}

export const isStatus = (thrown: unknown, ...codes: number[]): boolean =>
  codes.includes(refusalOf(thrown)?.statusCode ?? 0);

/** The engine does not have the container. Podman answers 500 if it is removed during the call. */
export function isGone(thrown: unknown): boolean {
  const refusal = refusalOf(thrown);
  return refusal !== null && (refusal.statusCode === 404 || /no such container/i.test(refusal.reason));
}

/** No answer: the engine is down or restarts, or the connection broke. The call may have been executed. */
export function isUnreachable(thrown: unknown): boolean {
  if (thrown instanceof SvcError || refusalOf(thrown) !== null) return false;
  if (!(thrown instanceof Error)) return false;
  if (thrown.name === 'AbortError' || thrown.name === 'TimeoutError') return true;
  return 'code' in thrown && typeof thrown.code === 'string';
}

/** The exit code that a shell would return, derived from the engine's reason. */
function startExitCode(reason: string): number | null {
  if (/executable file not found|no such file or directory|command not found|not found in/i.test(reason)) return 127;
  if (/permission denied|exec format error|is a directory/i.test(reason)) return 126;
  return null;
}

/** The only line of stderr when catatonit (Podman) or tini (Docker) cannot execute the command. */
const INIT_FAILURE =
  /^(?:ERROR \(catatonit:\d+\): failed to exec pid1|\[FATAL tini \(\d+\)\] exec .{1,4096} failed): (.+)\n$/;

const INIT_EXIT_CODES: readonly number[] = [1, 126, 127];

/**
 * Why the engine's init could not execute the command; null if the command ran. With an init the container starts even if
 * its command does not exist: only the exit code and the one line of stderr show it.
 */
export function initFailure(exitCode: number, stdoutBytes: number, stderr: string): string | null {
  if (!INIT_EXIT_CODES.includes(exitCode) || stdoutBytes > 0) return null;
  return INIT_FAILURE.exec(stderr)?.[1] ?? null;
}

/** The error for a container that could not be created or started, with exit code 126 or 127 if the reason shows it. */
export function containerFailed(reason: string, cause?: unknown): SvcError {
  const code = startExitCode(reason);
  const exit = code === null ? '' : ` (exit code ${code})`;
  return new SvcError('container_failed', `the container could not be started${exit}: ${reason}`, { cause });
}

/** Address of a Docker or Podman API. */
export type EngineLocation =
  | { readonly socketPath: string }
  | { readonly protocol: 'http' | 'https'; readonly host: string; readonly port: number };

interface EngineSearch {
  /** `spec.runtime.container_socket_path`; has precedence. */
  readonly configured?: string | undefined;
  /** Environment of the node: `DOCKER_HOST`, then `CONTAINER_HOST`; `XDG_RUNTIME_DIR` for rootless sockets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly exists?: (path: string) => boolean;
  /** Whether an engine that nothing names could be spoken to. Default: its client is installed. */
  readonly hasClient?: () => boolean;
}

/** The engine to use; null if none is configured and no well-known socket exists. Throws `invalid_config`. */
export function findEngine({
  configured,
  env,
  exists = existsSync,
  hasClient = () => isInstalled('containers'),
}: EngineSearch): EngineLocation | null {
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
  return socketPath === undefined || !hasClient() ? null : { socketPath };
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
