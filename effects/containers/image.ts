import type Docker from 'dockerode';
import { SvcError } from '../../runtime/errors.ts';
import { jsonOrNull } from '../../runtime/json.ts';
import type { Secrets } from '../../security/api.ts';
import type { ContainerEngine } from './engine.ts';
import { isStatus, refusalOf } from './engine-error.ts';
import type { ContainerInput } from './input.ts';
import { DOCKER_HUB, refuseRegistry, registryOf } from './registries.ts';
import type { EngineParts } from './settings.ts';

interface Login {
  readonly username: string;
  readonly password: string;
}

const PULL_TIMEOUT_MS = 10 * 60_000;
/** The name of Docker Hub in the credentials of engines. */
const HUB_ADDRESS = 'https://index.docker.io/v1/';

/**
 * Pulls the image if the policy says so. Throws `image_unavailable` with the engine's reason, without the credentials,
 * `registry_unreachable` when another attempt may succeed, and `failed_precondition` for credentials that cannot be read.
 */
export async function ensureImage(
  parts: EngineParts,
  input: ContainerInput,
  tenant: string,
  signal: AbortSignal,
): Promise<void> {
  const { engine, limits } = parts;
  const policy = limits.alwaysPull && input.image_pull_policy !== 'Never' ? 'Always' : input.image_pull_policy;
  if (policy !== 'Always') {
    if (await isPresent(engine, input.image, signal)) return;
    if (policy === 'Never') {
      throw new SvcError('image_unavailable', `image ${input.image} is not on this node and its pull policy is Never`);
    }
  }
  await refuseRegistry(input.image, { allowed: limits.registries, resolve: parts.resolveRegistry, signal });
  const login = await findLogin(parts.secrets, tenant, input.registry_credentials);
  try {
    await pull(parts, input.image, login, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SvcError) throw error;
    const reason = hide(refusalOf(error)?.reason ?? (error instanceof Error ? error.message : String(error)), login);
    // No cause: the engine's message may repeat the credentials.
    const code = isPassing(reason) ? 'registry_unreachable' : 'image_unavailable';
    throw new SvcError(code, `image ${input.image} could not be pulled: ${reason}`);
  }
}

/** Reasons of engines for pulls that failed on the way to the registry, or in it. */
const PASSING = [
  /\bdial (tcp|udp)\b|connection (refused|reset)|no such host|network is unreachable|no route to host|broken pipe/i,
  /i\/o timeout|tls handshake timeout|timeout exceeded|deadline exceeded|temporary failure|server misbehaving|\bEOF\b/i,
  /\b(429|500|502|503|504) [A-Z]|status(?: code)?:? (429|5\d\d)|too ?many ?requests|service unavailable|bad gateway/i,
];

/** Whether the registry could not be reached, so that another attempt may succeed. */
const isPassing = (reason: string): boolean => PASSING.some((pattern) => pattern.test(reason));

async function isPresent(engine: ContainerEngine, image: string, signal: AbortSignal): Promise<boolean> {
  try {
    await engine.call(signal, (docker) => docker.getImage(image).inspect());
    return true;
  } catch (error) {
    if (isStatus(error, 404)) return false;
    throw error;
  }
}

/** Whether a present image names a user. */
export async function hasUser(engine: ContainerEngine, image: string, signal: AbortSignal): Promise<boolean> {
  const { Config } = await engine.call(signal, (docker) => docker.getImage(image).inspect());
  return (Config?.User ?? '') !== '';
}

async function pull(parts: EngineParts, image: string, login: Login | null, signal: AbortSignal): Promise<void> {
  const { engine } = parts;
  const auth = login === null ? {} : { authconfig: { ...login, serveraddress: addressOf(image) } };
  // A broken pull is repeated; the engine keeps the layers it has.
  const once = async (docker: Docker, stop: AbortSignal) => {
    await readPull(await docker.pull(withTag(image), { ...auth, abortSignal: stop }));
  };
  await engine.call(signal, once, PULL_TIMEOUT_MS);
}

function addressOf(image: string): string {
  const registry = registryOf(image);
  return registry === DOCKER_HUB ? HUB_ADDRESS : registry;
}

/** The engine answers 200 and reports a failure in a line of the stream. */
async function readPull(stream: NodeJS.ReadableStream): Promise<void> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + chunk.toString()).split('\n');
    rest = (lines.pop() ?? '').slice(0, 65_536);
    lines.forEach(refuseError);
  }
  refuseError(rest);
}

function refuseError(line: string): void {
  if (line.trim() === '') return;
  const said: unknown = JSON.parse(line);
  if (typeof said !== 'object' || said === null || !('error' in said)) return;
  throw new Error(String(said.error).slice(0, 500));
}

async function findLogin(secrets: Secrets, tenant: string, path: string | undefined): Promise<Login | null> {
  if (path === undefined) return null;
  const reference = `secret:${path.replace(/^secret:/, '')}`;
  const login = parseLogin(await secrets.resolve(tenant, reference));
  if (login !== null) return login;
  throw new SvcError(
    'failed_precondition',
    `${reference}: expected {"username", "password"} as JSON, or user:password`,
    { field: 'registry_credentials' },
  );
}

function parseLogin(value: string): Login | null {
  const text = value.trim();
  if (text.startsWith('{')) return loginOf(jsonOrNull(text));
  const colon = text.indexOf(':');
  return colon < 1 ? null : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function loginOf(value: unknown): Login | null {
  if (typeof value !== 'object' || value === null || !('username' in value) || !('password' in value)) return null;
  const { username, password } = value;
  return typeof username === 'string' && typeof password === 'string' ? { username, password } : null;
}

/** Removes the credentials from the engine's message, in each form in which they were sent. */
function hide(reason: string, login: Login | null): string {
  if (login === null) return reason;
  const both = `${login.username}:${login.password}`;
  const forms = [login.password, encodeURIComponent(login.password), Buffer.from(both).toString('base64')];
  return forms.filter((one) => one !== '').reduce((text, one) => text.replaceAll(one, '[redacted]'), reason);
}

/** Without a tag, engines would pull all tags. */
const withTag = (image: string): string =>
  /@sha256:|:[\w][\w.-]*$/.test(image.slice(image.lastIndexOf('/') + 1)) ? image : `${image}:latest`;
