import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Documents } from '../../runtime/documents.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { startMongo } from '../support/ferretdb.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { NodeProcess } from '../support/node-process.ts';
import { startRedis } from '../support/redis.ts';
import { askedFor, type KillAgent, killAgents, modelTurn, nodeConfig, PROGRAM } from './agents.ts';

export type StoreKind = 'sqlite' | 'redis';

/** When a model was asked. */
export interface ModelCallSeen {
  readonly key: string;
  readonly iteration: number;
  readonly atMs: number;
}

/** All that outlives the node: its stores, the model server, the agents' program and what it wrote. */
export interface KillWorld {
  readonly node: NodeProcess;
  readonly model: ModelServer;
  readonly agents: readonly KillAgent[];
  readonly calls: readonly ModelCallSeen[];
  /** Lines `execution iteration`, one for each start of the program. */
  runs(): Promise<string[]>;
  /** The node's documents; only while it is stopped. */
  withDocuments<T>(read: (documents: Documents) => Promise<T>): Promise<T>;
  destroy(): Promise<void>;
}

export async function openWorld(kind: StoreKind): Promise<KillWorld> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-kill-'));
  const files = { program: join(directory, 'program.sh'), runs: join(directory, 'runs') };
  const dataDir = join(directory, 'data');
  const [servers, model] = await Promise.all([kind === 'redis' ? startServers() : null, startModelServer()]);
  const calls: ModelCallSeen[] = [];
  model.answer((call) => {
    const { key, iteration } = askedFor(call);
    calls.push({ key, iteration, atMs: Date.now() });
    return modelTurn(call);
  });
  await writeFile(files.program, PROGRAM);
  await chmod(files.program, 0o755);
  await writeFile(files.runs, '');
  await writeFile(join(directory, 'svc.yaml'), nodeConfig(model.url));
  const locations = servers === null ? [] : ['--redis', servers.redis.url, '--mongodb', servers.mongo.uri];
  const node = new NodeProcess(['--data', dataDir, '--config', join(directory, 'svc.yaml'), ...locations]);
  return {
    node,
    model,
    agents: killAgents(files),
    calls,
    runs: async () => (await readFile(files.runs, 'utf8')).split('\n').filter((line) => line !== ''),
    async withDocuments(read) {
      const warn = (message: string, error: unknown): void => console.error(message, error ?? '');
      const remote = servers === null ? {} : { redis: [servers.redis.url], mongodb: servers.mongo.uri };
      const stores = await openStores({ dataDir, warn, ...remote });
      try {
        return await read(stores.documents);
      } finally {
        await stores.close();
      }
    },
    async destroy() {
      await node.kill();
      await Promise.all([model.stop(), servers?.redis.stop(), servers?.mongo.stop()]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function startServers() {
  const [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
  return { redis, mongo };
}
