import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CliFailure, EXIT, invalid } from './failure.ts';

export const ROLES = ['controller', 'worker', 'hybrid'] as const;
export type Role = (typeof ROLES)[number];

/** What `svc node init` and `svc node join` write down; everything else of a node has a default. */
export interface NodeFile {
  readonly role: Role;
  /** `host:port` of controllers. */
  readonly controllers: readonly string[];
  readonly tags: readonly string[];
  readonly data: string;
  readonly redis?: string;
  readonly mongodb?: string;
  /** A secret or a reference to one: what controllers ask for, what a worker shows. */
  readonly joinToken?: string;
}

export interface WrittenNode {
  readonly config: string;
  readonly key: string;
  /** False when there was one: it is who the node is, so it is kept. */
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

/** Writes the configuration and the node's key, both readable for this user only. An existing file needs `force`. */
export async function writeNode(path: string, node: NodeFile, force: boolean): Promise<WrittenNode> {
  const key = join(node.data, 'node-key.pem');
  const { stringify } = await import('yaml');
  await writeNew(path, stringify(configOf(node, key), { lineWidth: 0 }), force);
  return { config: path, key, newKey: await writeKey(key) };
}

function configOf(node: NodeFile, key: string): object {
  const { role, controllers, tags, data, redis, mongodb, joinToken } = node;
  const isWorker = role === 'worker';
  const controller = {
    endpoint: controllers,
    ...(joinToken === undefined || !isWorker ? {} : { token: joinToken }),
  };
  return {
    apiVersion: 'svc.dev/v1',
    kind: 'NodeConfig',
    spec: {
      ...(tags.length === 0 ? {} : { node: { tags } }),
      stores: {
        data_dir: data,
        ...(redis === undefined ? {} : { redis }),
        ...(mongodb === undefined ? {} : { mongodb }),
      },
      cluster: {
        enabled: true,
        role,
        node_keypair_path: key,
        ...(controllers.length === 0 ? {} : { controller }),
        ...(joinToken === undefined || isWorker ? {} : { join_token: joinToken }),
      },
    },
  };
}

async function writeNew(path: string, text: string, force: boolean): Promise<void> {
  try {
    await writeFile(path, text, { mode: PRIVATE, flag: force ? 'w' : 'wx' });
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') {
      throw new CliFailure(EXIT.conflict, `${path} exists already: --force overwrites it`);
    }
    throw unwritable(path, thrown);
  }
}

/** Ed25519 in PKCS 8, as NodeClusterService wants its nodes to have (G17). */
async function writeKey(path: string): Promise<boolean> {
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: PRIVATE, flag: 'wx' });
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return false;
    throw unwritable(path, thrown);
  }
}

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unwritable';

const unwritable = (path: string, thrown: unknown): CliFailure =>
  new CliFailure(EXIT.validation, `${path} cannot be written (${codeOf(thrown)})`);
