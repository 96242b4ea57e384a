import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenStores } from '../../runtime/open-stores.ts';
import { makeJournal } from '../support/journal.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { NodeProcess } from '../support/node-process.ts';
import { askedFor, type KillAgent, killAgents, modelTurn, nodeConfig, PROGRAM } from './agents.ts';
import { type KillStores, readStores, type StoreKind, startStores } from './stores.ts';

/** When a model was asked. */
export interface ModelCallSeen {
  readonly key: string;
  readonly iteration: number;
  readonly atMs: number;
}

/** Everything that outlives the node: its stores, the model server, the agents' program and its output. */
export interface Surroundings {
  readonly node: NodeProcess;
  /** Where the actor store is, for looks while the node runs. */
  readonly location: KillStores['location'];
  readonly model: ModelServer;
  readonly agents: readonly KillAgent[];
  readonly calls: readonly ModelCallSeen[];
  /** Lines `execution iteration`, one for each start of the program. */
  runs(): Promise<string[]>;
  /** The node's stores; only while it is stopped. */
  withStores<T>(read: (stores: OpenStores) => Promise<T>): Promise<T>;
  destroy(): Promise<void>;
}

export async function openSurroundings(kind: StoreKind): Promise<Surroundings> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-kill-'));
  const journal = await makeJournal(directory, 'runs');
  const files = { program: join(directory, 'program.sh'), runs: journal.file };
  const [held, model] = await Promise.all([startStores(kind), startModelServer()]);
  const calls: ModelCallSeen[] = [];
  model.answer((call) => {
    const { key, iteration } = askedFor(call);
    calls.push({ key, iteration, atMs: Date.now() });
    return modelTurn(call);
  });
  await writeFile(files.program, PROGRAM);
  await chmod(files.program, 0o755);
  await writeFile(join(directory, 'svc.yaml'), nodeConfig(model.url, journal.runtime));
  const node = new NodeProcess([...held.args, '--config', join(directory, 'svc.yaml')]);
  return {
    node,
    location: held.location,
    model,
    agents: killAgents(files),
    calls,
    runs: journal.lines,
    withStores: (read) => readStores(held.location, read),
    async destroy() {
      await node.kill();
      await Promise.all([model.stop(), held.destroy()]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
