import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodeOnStores, openNodeOnStores } from '../kill/node-on-stores.ts';
import type { StoreKind } from '../kill/stores.ts';
import { freePort } from './free-port.ts';
import { unlessGone } from './live-files.ts';
import { writeScriptedModel } from './node-config.ts';
import { TestPodman } from './podman.ts';
import { COUNTER, JOURNAL, type ToolAgent, toolAgents } from './tool-kill-agents.ts';

/** A node on stores with agents of tool calls and, where one of them needs it, a container engine. */
export interface ToolKillSurroundings extends NodeOnStores {
  readonly agents: readonly ToolAgent[];
  readonly podman: TestPodman | null;
  /** Texts that are in the command line or environment of every process of the node. */
  readonly marks: readonly string[];
  /** Marks of the commands of an execution in its workspace, in order. */
  journalOf(executionId: string): Promise<string[]>;
  /** Runs of the MCP server's tool. */
  counted(): Promise<number>;
  /** Directories of mailboxes. */
  boxes(): Promise<string[]>;
}

export async function openToolKillSurroundings(
  kind: StoreKind,
  which: readonly string[],
): Promise<ToolKillSurroundings> {
  await using opened = new AsyncDisposableStack();
  const podman = which.includes('docker') ? opened.use(await TestPodman.start({ own: true })) : null;
  const agents = toolAgents(which);
  const at = opened.use(
    await openNodeOnStores(kind, {
      spec: async ({ directory, journal }) => ({
        observability: { logging: { level: 'warn' } },
        // A fixed port, as in production: a program that outlives its node reaches the next process of it.
        network: { internal: { port: await freePort() } },
        ...(podman === null
          ? {}
          : { runtime: { container_socket_path: podman.socketPath, containers: { user: '0:0' } } }),
        llm_providers: [
          await writeScriptedModel(
            directory,
            agents.flatMap(({ rules }) => rules),
          ),
        ],
        mcp_servers: [counterServer(journal.file)],
      }),
    }),
  );
  const { dataDir } = at.location;
  const all = opened.move();
  return {
    ...at,
    ...{ agents, podman, marks: [at.directory, dataDir] },
    journalOf: (id) => linesOf(join(dataDir, 'volumes', 'svc-system', id, JOURNAL)),
    counted: async () => (await at.journal.lines()).length,
    boxes: () => entriesOf(join(dataDir, 'agents')),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** An MCP server whose tool counts its runs in this file of the test, so it is in no sandbox. */
const counterServer = (counts: string): object => ({
  ...{ name: COUNTER, executable: process.execPath, args: [join(import.meta.dirname, 'tool-kill-counter.ts')] },
  ...{ sandbox: 'off', environment: { COUNTS: counts, NODE_NO_WARNINGS: '1' } },
});

const linesOf = async (file: string): Promise<string[]> =>
  (await unlessGone(readFile(file, 'utf8'), () => '')).split('\n').filter((line) => line !== '');

const entriesOf = (directory: string): Promise<string[]> => unlessGone(readdir(directory), () => []);
