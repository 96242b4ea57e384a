import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { type Address, addressOf } from '../../../runtime/address.ts';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { Faults } from '../../support/cluster/faults.ts';
import { Nemesis } from '../../support/cluster/nemesis.ts';
import { TENANT } from '../addresses.ts';
import { LOST_ANSWERS } from '../lost-answers.ts';
import { type ScenarioReport, timeLines } from '../report.ts';

export interface StepsOptions {
  readonly nodes: number;
  readonly runs: number;
  readonly steps: number;
  readonly stepMs: number;
  /** `every`: a kill each `ms` until all runs have ended; `once`: one kill `ms` after the start. */
  readonly kill: { readonly everyMs: number } | { readonly onceAfterMs: number };
  readonly mode: 'repeatable' | 'once';
  /** Whether the same runs are measured without a kill first, to compare the times. */
  readonly compared: boolean;
  readonly seed: number;
  /** Allowed extra time compared with runs without kills; null: only printed. */
  readonly barMs: number | null;
}

const State = z.object({ done: z.number(), status: z.string() });
const END_MS = 180_000;

/** A cluster for several sets of runs. */
export const stepsCluster = ({ nodes, seed }: StepsOptions): Promise<Cluster> =>
  startCluster({ ambiguity: LOST_ANSWERS, nodes, seed, workload: new URL('../workload.ts', import.meta.url) });

/**
 * Runs of effect steps while workers die: all end, none is lost, and none is repeated without a record; compared with
 * the time without kills.
 */
export const stepsUnderKillsOn = (cluster: Cluster, options: StepsOptions): Promise<ScenarioReport> =>
  cluster.explained(compare(cluster, options));

/** The same on a separate cluster. */
export async function stepsUnderKills(options: StepsOptions): Promise<ScenarioReport> {
  const cluster = await stepsCluster(options);
  try {
    return await stepsUnderKillsOn(cluster, options);
  } finally {
    await cluster.destroy();
  }
}

async function compare(cluster: Cluster, options: StepsOptions): Promise<ScenarioReport> {
  const { runs, steps, stepMs, mode, kill, seed, barMs } = options;
  await cluster.settled('before the runs');
  const unkilled = options.compared ? await runUnkilled(cluster, options) : null;
  const faults = new Faults(cluster);
  const everyMs = 'everyMs' in kill ? kill.everyMs : null;
  const nemesis = new Nemesis(seed, everyMs === null ? [] : [faults.killNode(everyMs, 0)]);
  const once = 'onceAfterMs' in kill ? killOnce(cluster, kill.onceAfterMs) : Promise.resolve();
  const killed = await runAll(cluster, options);
  await Promise.all([nemesis.end(), once]);
  const overMs = unkilled === null ? null : Math.round(killed.tookMs - unkilled.tookMs);
  const over = unkilled === null ? '' : `, ${overMs} ms over the unkilled ${Math.round(unkilled.tookMs)} ms`;
  const kills = everyMs === null ? 'kill 1' : nemesis.summary();
  return {
    title: `${runs} runs of ${steps} ${mode} steps of ${stepMs} ms, ${everyMs === null ? 'one kill' : `a kill each ${everyMs} ms`}`,
    seed,
    lines: [
      `killed ${Math.round(killed.tookMs)} ms${over}; ${kills}`,
      `steps run again, each under a new attempt: ${killed.again}; runs that say in doubt: ${killed.inDoubt}`,
      ...(unkilled === null ? [] : timeLines('a run, unkilled', unkilled.timesMs)),
      ...timeLines('a run, killed', killed.timesMs),
    ],
    broken: [
      ...(unkilled?.broken ?? []),
      ...killed.broken,
      ...(everyMs !== null && nemesis.struck.length === 0 ? ['no process was killed, so the run shows nothing'] : []),
      ...(barMs !== null && overMs !== null && overMs > barMs
        ? [`${overMs} ms over the unkilled run, this project’s own target is at most ${barMs} ms`]
        : []),
      ...(await cluster.livenessBroken()),
      ...cluster.crashed.map((name) => `${name} ended by itself`),
    ],
  };
}

async function runUnkilled(cluster: Cluster, options: StepsOptions): Promise<AllRuns> {
  // A first run loads and compiles the code.
  await runAll(cluster, { ...options, runs: 20, steps: 2 });
  return runAll(cluster, options);
}

async function killOnce(cluster: Cluster, afterMs: number): Promise<void> {
  await pause(afterMs);
  await cluster.kill(1);
  await cluster.start(1);
}

interface AllRuns {
  readonly tookMs: number;
  readonly timesMs: readonly number[];
  readonly again: number;
  readonly inDoubt: number;
  readonly broken: readonly string[];
}

async function runAll(cluster: Cluster, options: StepsOptions): Promise<AllRuns> {
  const { runs, steps, stepMs, mode } = options;
  const trail = join(cluster.directory, `trail-${randomUUID()}`);
  await writeFile(trail, '');
  const addresses = Array.from({ length: runs }, () => addressOf('steps', TENANT, randomUUID()));
  const begunAt = performance.now();
  const ends = await Promise.all(
    addresses.map(async (address) => {
      await cluster.client.ask(address, 'Run', { steps, stepMs, trail, mode });
      const state = await ended(cluster, address);
      return { address, state, tookMs: performance.now() - begunAt };
    }),
  );
  const tookMs = performance.now() - begunAt;
  const { again, broken } = checkTrail(await readFile(trail, 'utf8'), addresses, options);
  const allowed = mode === 'once' ? ['ended', 'in_doubt'] : ['ended'];
  const lost = ends.filter(({ state }) => !allowed.includes(state.status));
  return {
    tookMs,
    timesMs: ends.map((end) => end.tookMs),
    again,
    inDoubt: ends.filter(({ state }) => state.status === 'in_doubt').length,
    broken: [
      ...broken,
      ...lost.map(({ address, state }) => `${address} ended as ${state.status} at step ${state.done}`),
    ],
  };
}

async function ended(cluster: Cluster, address: Address): Promise<z.infer<typeof State>> {
  await cluster.client.end(address, { withinMs: END_MS, tryMs: 30_000 });
  const state = await cluster.client.state(address, State);
  if (state === null) throw new Error(`${address} has ended, but the store and the archive lack it`);
  return state;
}

/** Checks the traces of the effects: no step is missing, and none ran twice under one attempt or out of order. */
function checkTrail(
  text: string,
  addresses: readonly Address[],
  options: StepsOptions,
): { again: number; broken: string[] } {
  const byRun = new Map<string, { step: number; attempt: number }[]>(addresses.map((address) => [address, []]));
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [run = '', step, attempt] = line.split(' ');
    byRun.get(run)?.push({ step: Number(step), attempt: Number(attempt) });
  }
  const broken: string[] = [];
  let again = 0;
  for (const [run, lines] of byRun) {
    const attempts = new Set(lines.map(({ step, attempt }) => `${step}@${attempt}`));
    const seen = new Set(lines.map(({ step }) => step));
    if (attempts.size !== lines.length) broken.push(`${run}: a step was run twice under one attempt`);
    if (lines.some(({ step }, index) => step < (lines[index - 1]?.step ?? 0)))
      broken.push(`${run}: a step began after the step that follows it`);
    if (options.mode === 'once' && seen.size !== lines.length)
      broken.push(`${run}: a step that runs once was repeated`);
    if (options.mode === 'repeatable' && seen.size !== options.steps)
      broken.push(`${run}: ${seen.size} steps were run`);
    again += lines.length - seen.size;
  }
  return { again, broken };
}
