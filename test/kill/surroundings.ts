import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { askedFor, type KillAgent, killAgents, modelConfig, modelTurn, PROGRAM } from './agents.ts';
import { type NodeOnStores, openNodeOnStores } from './node-on-stores.ts';
import type { StoreKind } from './stores.ts';

/** Time of a model call. */
export interface ModelCallSeen {
  readonly key: string;
  readonly iteration: number;
  readonly atMs: number;
}

/** A node on stores with a model server and agents; one agent is a program that writes to the journal. */
export interface Surroundings extends NodeOnStores {
  readonly model: ModelServer;
  readonly agents: readonly KillAgent[];
  readonly calls: readonly ModelCallSeen[];
  /** Lines `execution iteration`, one for each start of the program. */
  runs(): Promise<string[]>;
}

export async function openSurroundings(kind: StoreKind): Promise<Surroundings> {
  await using opened = new AsyncDisposableStack();
  const model = await startModelServer();
  opened.defer(() => model.stop());
  const calls: ModelCallSeen[] = [];
  model.answer((call) => {
    const { key, iteration } = askedFor(call);
    calls.push({ key, iteration, atMs: Date.now() });
    return modelTurn(call);
  });
  const at = opened.use(
    await openNodeOnStores(kind, { spec: ({ journal }) => modelConfig(model.url, journal.runtime) }),
  );
  const program = join(at.directory, 'program.sh');
  await writeFile(program, PROGRAM, { mode: 0o755 });
  const all = opened.move();
  return {
    ...at,
    ...{ model, calls, agents: killAgents({ program, runs: at.journal.file }), runs: at.journal.lines },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
