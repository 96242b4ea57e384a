import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CliFailure, EXIT, errorCode, invalid } from './failure.ts';

const ROLES = ['controller', 'worker', 'hybrid'] as const;
type Role = (typeof ROLES)[number];

/** Settings that `svc node init` and `svc node join` write; all others keep their defaults. */
interface NodeFile {
  readonly role: Role;
  /** `host:port` of controllers. */
  readonly controllers: readonly string[];
  readonly tags: readonly string[];
  readonly data: string;
  readonly redis?: string;
  readonly mongodb?: string;
  /** A secret or a reference to one: controllers require it, workers present it. */
  readonly joinToken?: string;
}

export interface WrittenNode {
  readonly config: string;
  readonly key: string;
  /** False when a key existed, which is kept because it identifies the node. */
  readonly newKey: boolean;
}

const PRIVATE = 0o600;
const ENDPOINT = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/;

export function roleOf(given: string): Role {
  const role = ROLES.find((one) => one === given);
  if (role === undefined) throw invalid(`--role: expected ${ROLES.join(', ')}, got ${given}`);
  return role;
}

export const commaList = (given: string | undefined): string[] =>
  (given ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** `host:port,host:port`. */
export function endpointsOf(given: string | undefined, option: string): string[] {
  const endpoints = commaList(given);
  for (const endpoint of endpoints) {
    if (!ENDPOINT.test(endpoint)) throw invalid(`${option}: expected host:port, got ${endpoint}`);
  }
  return endpoints;
}

/**
 * Writes the configuration and the key of the node, readable by this user only. An existing file is replaced only with `force`.
 */
export async function writeNode(path: string, node: NodeFile, force: boolean): Promise<WrittenNode> {
  const key = join(node.data, 'node-key.pem');
  const { stringify } = await import('yaml');
  await writeNew(path, stringify(configOf(node, key), { lineWidth: 0 }), force);
  return { config: path, key, newKey: await writeKey(key) };
}

function configOf(node: NodeFile, key: string): object {
  const { role, controllers, tags, data, redis, mongodb, joinToken } = node;
  const isWorker = role === 'worker';
  const controller = { endpoint: controllers, token: isWorker ? joinToken : undefined };
  return {
    apiVersion: 'svc.dev/v1',
    kind: 'NodeConfig',
    spec: {
      node: tags.length === 0 ? undefined : { tags },
      stores: { data_dir: data, redis, mongodb },
      cluster: {
        enabled: true,
        role,
        node_keypair_path: key,
        controller: controllers.length === 0 ? undefined : controller,
        join_token: isWorker ? undefined : joinToken,
      },
    },
  };
}

async function writeNew(path: string, text: string, force: boolean): Promise<void> {
  try {
    await writeFile(path, text, { mode: PRIVATE, flag: force ? 'w' : 'wx' });
  } catch (thrown) {
    if (errorCode(thrown) === 'EEXIST') {
      throw new CliFailure(EXIT.conflict, `${path} exists already; use --force to overwrite it`);
    }
    throw unwritable(path, thrown);
  }
}

/** Ed25519 in PKCS 8, as NodeClusterService requires (G17). */
async function writeKey(path: string): Promise<boolean> {
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: PRIVATE, flag: 'wx' });
    return true;
  } catch (thrown) {
    if (errorCode(thrown) === 'EEXIST') return false;
    throw unwritable(path, thrown);
  }
}

const unwritable = (path: string, thrown: unknown): CliFailure =>
  new CliFailure(EXIT.validation, `${path} cannot be written (${errorCode(thrown)})`);
