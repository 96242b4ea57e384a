import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreLocation } from '../../runtime/open-stores.ts';
import { startMongo } from './ferretdb.ts';
import { makeJournal } from './journal.ts';
import { writeNodeConfig } from './node-config.ts';
import { NodeProcess } from './node-process.ts';
import { TestPodman } from './podman.ts';
import { startRedis } from './redis.ts';

/** A node, and what outlives its kills: Redis with `appendfsync always`, documents, a container engine, the journal. */
export interface WorkflowKillSurroundings extends AsyncDisposable {
  readonly node: NodeProcess;
  /** Where the actor store is, to look into it while the node runs. */
  readonly location: Pick<StoreLocation, 'dataDir' | 'redis'>;
  readonly podman: TestPodman;
  readonly directory: string;
  /** File to which commands append a line when they run. */
  readonly journal: string;
  readonly startedAtMs: number;
}

/** `spec`: further blocks of the node's configuration, such as a scripted model; `env`: its environment. */
export async function openWorkflowKillSurroundings({
  spec = {},
  env = {},
}: {
  readonly spec?: object;
  readonly env?: NodeJS.ProcessEnv;
} = {}): Promise<WorkflowKillSurroundings> {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'svc-workflow-kill-'));
  opened.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const journal = await makeJournal(directory);
  const redis = await startRedis({ appendfsync: 'always' });
  opened.defer(() => redis.stop());
  const mongo = await startMongo();
  opened.defer(() => mongo.stop());
  const startedAtMs = Date.now();
  const podman = await TestPodman.start({ own: true });
  opened.defer(() => podman[Symbol.asyncDispose]());
  const config = await writeNodeConfig(directory, {
    observability: { logging: { level: 'warn' } },
    runtime: { container_socket_path: podman.socketPath, ...journal.runtime },
    ...spec,
  });
  const data = join(directory, 'data');
  const args = ['--data', data, '--redis', redis.url, '--mongodb', mongo.uri, '--config', config];
  const node = new NodeProcess(args, env);
  opened.defer(() => node.kill());
  const servers = opened.move();
  const close = () => servers.disposeAsync();
  const location = { dataDir: data, redis: [redis.url] };
  return { node, location, podman, directory, journal: journal.file, startedAtMs, [Symbol.asyncDispose]: close };
}
