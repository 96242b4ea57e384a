import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { OpenStores } from '../../runtime/open-stores.ts';
import { type KillStores, readStores, type StoreKind, startStores } from '../kill/stores.ts';
import { freePort } from './free-port.ts';
import { unlessGone } from './live-files.ts';
import { NodeProcess } from './node-process.ts';
import { TestPodman } from './podman.ts';
import { COUNTER, JOURNAL, type ToolAgent, toolAgents } from './tool-kill-agents.ts';

/** All that outlives the node: its stores, a container engine where one is needed, what tools noted. */
export interface ToolKillSurroundings extends AsyncDisposable {
  readonly node: NodeProcess;
  /** Where the actor store is, for looks while the node runs. */
  readonly location: KillStores['location'];
  readonly agents: readonly ToolAgent[];
  readonly podman: TestPodman | null;
  /** Texts that are in the command line or environment of every process of the node. */
  readonly marks: readonly string[];
  /** Marks that the commands of an execution left in its workspace, in order. */
  journalOf(executionId: string): Promise<string[]>;
  /** Runs of the MCP server's tool. */
  counted(): Promise<number>;
  /** Directories of mailboxes. */
  boxes(): Promise<string[]>;
  /** The node's stores; only while it is stopped. */
  withStores<T>(read: (stores: OpenStores) => Promise<T>): Promise<T>;
}

export async function openToolKillSurroundings(
  kind: StoreKind,
  which: readonly string[],
): Promise<ToolKillSurroundings> {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'svc-tool-kill-'));
  opened.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const stores = await startStores(kind);
  opened.defer(() => stores.destroy());
  const podman = which.includes('docker') ? opened.use(await TestPodman.start()) : null;
  const counts = join(directory, 'counts');
  await writeFile(counts, '');
  const agents = toolAgents(which);
  const script = join(directory, 'script.yaml');
  await writeFile(script, stringify({ rules: agents.flatMap(({ rules }) => rules) }));
  const config = join(directory, 'svc.yaml');
  await writeFile(config, stringify(await configOf({ script, counts, podman })));
  const node = new NodeProcess([...stores.args, '--config', config]);
  opened.defer(() => node.kill());
  const dataDir = stores.location.dataDir;
  const servers = opened.move();
  return {
    ...{ node, agents, podman, location: stores.location, marks: [directory, dataDir] },
    journalOf: (id) => linesOf(join(dataDir, 'volumes', 'svc-system', id, JOURNAL)),
    counted: async () => (await linesOf(counts)).length,
    boxes: () => entriesOf(join(dataDir, 'agents')),
    withStores: (read) => readStores(stores.location, read),
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}

async function configOf(parts: {
  readonly script: string;
  readonly counts: string;
  readonly podman: TestPodman | null;
}): Promise<object> {
  const { script, counts, podman } = parts;
  const counter = join(import.meta.dirname, 'tool-kill-counter.ts');
  const containers = { container_socket_path: podman?.socketPath, containers: { user: '0:0' } };
  return {
    apiVersion: 'svc.dev/v1',
    kind: 'NodeConfig',
    spec: {
      observability: { logging: { level: 'warn' } },
      // The same in every life, as where a person runs it: a program that outlives its node reaches the next one.
      network: { internal: { port: await freePort() } },
      ...(podman === null ? {} : { runtime: containers }),
      llm_providers: [{ name: 'script', type: 'scripted', script, models: [{ alias: 'default', model: 'script' }] }],
      mcp_servers: [
        {
          name: COUNTER,
          executable: process.execPath,
          args: [counter],
          // It counts in a file of the test.
          sandbox: 'off',
          environment: { COUNTS: counts, NODE_NO_WARNINGS: '1' },
        },
      ],
    },
  };
}

const linesOf = async (file: string): Promise<string[]> =>
  (await unlessGone(readFile(file, 'utf8'), () => '')).split('\n').filter((line) => line !== '');

const entriesOf = (directory: string): Promise<string[]> => unlessGone(readdir(directory), () => []);
