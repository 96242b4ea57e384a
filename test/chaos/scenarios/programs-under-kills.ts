import { setTimeout as pause } from 'node:timers/promises';
import { addressOf } from '../../../runtime/address.ts';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { Faults } from '../../support/cluster/faults.ts';
import { Nemesis } from '../../support/cluster/nemesis.ts';
import { TENANT } from '../addresses.ts';
import { ProgramState } from '../program.ts';
import { differenceOf, type Expected, type PlannedProgram, planPrograms } from '../program-plan.ts';
import type { ScenarioReport } from '../report.ts';
import { timeLines } from '../report.ts';

export interface ProgramsOptions {
  readonly nodes: number;
  readonly programs: number;
  readonly actors: number;
  /** Programs begin evenly over this time. */
  readonly forMs: number;
  readonly everyMs: { readonly killNode: number; readonly killAdapter: number; readonly restartStore: number };
  readonly ambiguity: number;
  readonly seed: number;
}

/** Limit after the last fault for all differences to disappear. */
const HEAL_MS = 60_000;
const READ_AT_ONCE = 64;

/** Random programs while nodes, adapters and Redis die: the final states equal the computed ones. */
export async function programsUnderKills(options: ProgramsOptions): Promise<ScenarioReport> {
  const { nodes, seed, ambiguity } = options;
  const workload = new URL('../workload.ts', import.meta.url);
  const cluster = await startCluster({ nodes, adapters: 2, seed, ambiguity, workload, appendfsync: 'always' });
  try {
    return await cluster.explained(run(cluster, options));
  } finally {
    await cluster.destroy();
  }
}

async function run(cluster: Cluster, options: ProgramsOptions): Promise<ScenarioReport> {
  const { programs: count, actors, seed, forMs, everyMs } = options;
  const { programs, expected } = planPrograms({ programs: count, actors, seed });
  await cluster.settled('before the faults');
  const faults = new Faults(cluster);
  const nemesis = new Nemesis(seed, [
    faults.killNode(everyMs.killNode, 300),
    faults.killAdapter(everyMs.killAdapter),
    faults.restartStore(everyMs.restartStore),
  ]);
  const tookMs = await begin(cluster, programs, forMs);
  await nemesis.end();
  const healedAt = performance.now();
  const differing = await converge(cluster, expected);
  const convergedMs = Math.round(performance.now() - healedAt);
  const commands = programs.reduce((sum, one) => sum + one.commands.length, 0);
  return {
    title: `${count} programs (${commands} commands) over ${actors} actors`,
    seed,
    lines: [
      `faults: ${nemesis.summary()}; calls repeated ${cluster.client.repeats}, starts repeated ${faults.startsRepeated}`,
      ...timeLines('a program to be accepted', tookMs),
      `difference ${differing.length} of ${expected.size} actors, ${convergedMs} ms after the last fault`,
    ],
    broken: [
      ...differing.slice(0, 10),
      ...(nemesis.struck.length === 0 ? ['no fault occurred, so the run shows nothing'] : []),
      ...(await cluster.livenessBroken()),
      ...cluster.crashed.map((name) => `${name} ended by itself`),
    ],
  };
}

async function begin(cluster: Cluster, programs: readonly PlannedProgram[], forMs: number): Promise<number[]> {
  const begunAt = performance.now();
  return Promise.all(
    programs.map(async ({ id, actor, commands }, index) => {
      // Spread over the time, so that faults occur at every stage of some of them.
      await pause(Math.max(1, begunAt + (index * forMs) / programs.length - performance.now()));
      const sentAt = performance.now();
      const address = addressOf('program', TENANT, actor);
      await cluster.client.ask(address, 'Run', { program: id, commands: [...commands] }, { withinMs: 120_000 });
      return performance.now() - sentAt;
    }),
  );
}

/** Reads the actors that differ until none does or the time is over; returns the differences. */
async function converge(cluster: Cluster, expected: ReadonlyMap<string, Expected>): Promise<string[]> {
  const deadline = performance.now() + HEAL_MS;
  let left = [...expected];
  for (;;) {
    const differences = await differencesOf(cluster, left);
    if (differences.length === 0 || performance.now() > deadline) return differences.map(({ text }) => text);
    left = differences.map(({ actor, end }) => [actor, end]);
    await pause(100);
  }
}

interface Difference {
  readonly actor: string;
  readonly end: Expected;
  readonly text: string;
}

async function differencesOf(
  cluster: Cluster,
  actors: readonly (readonly [string, Expected])[],
): Promise<Difference[]> {
  const waiting = [...actors];
  const found: Difference[] = [];
  const lane = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [actor, end] = next;
      const address = addressOf('program', TENANT, actor);
      const why = differenceOf(end, await cluster.client.state(address, ProgramState));
      if (why !== null) found.push({ actor, end, text: `${address} ${why}` });
    }
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, lane));
  return found;
}
