import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { SeededRandom } from '../kill/random.ts';
import { explained, untilEmpty, workUnderKills } from '../kill/under-kills.ts';
import { livenessBroken } from './liveness.ts';
import { waitUntil } from './wait-until.ts';
import { WorkflowCalls } from './workflow-kill-calls.ts';
import type { WorkflowCase } from './workflow-kill-cases.ts';
import { executionsOf } from './workflow-kill-checks.ts';
import { type KilledRun, SparedRuns } from './workflow-kill-limits.ts';
import {
  type ContainerStarted,
  containerStarts,
  containersLeft,
  journalCounts,
  processesWith,
  withMarks,
} from './workflow-kill-marks.ts';
import { type RunSeen, runCase } from './workflow-kill-run.ts';
import type { WorkflowKillSurroundings } from './workflow-kill-surroundings.ts';

export interface WorkflowKillOptions {
  readonly kills: number;
  readonly seed: number;
  /** Runs at a time. */
  readonly atATime: number;
}

/** What happened, for the checks and the figures. */
export interface WorkflowKillOutcome {
  /** By case: a run without kills. */
  readonly unkilled: ReadonlyMap<string, RunSeen>;
  readonly runs: readonly RunSeen[];
  /** What was still under way 30 s after the last kill (test/support/liveness.ts). */
  readonly unfinished: readonly string[];
  /** Unix ms. */
  readonly kills: readonly number[];
  readonly killsInStartup: number;
  /** Starts after which the node did not listen within 20 s. */
  readonly slowStarts: number;
  /** Kills that were delayed because a command had been killed up to its limit. */
  readonly waits: number;
  /** Starts of commands by `execution state`. */
  readonly commands: ReadonlyMap<string, number>;
  readonly containers: readonly ContainerStarted[];
  /** Executions that the node lists. */
  readonly listed: number;
  readonly containersLeft: readonly string[];
  readonly processesLeft: readonly string[];
  readonly sweptAfterMs: number;
  readonly tookMs: number;
}

/** Share of kills that are followed by another one while the node starts. */
const STARTUP_SHARE = 0.25;
const STARTUP_MS = 1_500;
/** Some pauses between kills are longer, so that runs make progress; the others are at most as long as a run. */
const LONG_SHARE = 0.2;
const LONG_LIFE = 2;
/** Time from the last kill within which all runs must end. */
const SETTLE_MS = 120_000;
const SWEEP_MS = 90_000;

/** Runs the cases again and again while the node is killed at random moments; returns the results. */
export async function killWorkflows(
  surroundings: WorkflowKillSurroundings,
  cases: readonly WorkflowCase[],
  options: WorkflowKillOptions,
): Promise<WorkflowKillOutcome> {
  return explained(surroundings.node, options.seed, new WorkflowKills(surroundings, cases, options).all());
}

class WorkflowKills {
  readonly #surroundings: WorkflowKillSurroundings;
  readonly #cases: readonly WorkflowCase[];
  readonly #options: WorkflowKillOptions;
  readonly #random: SeededRandom;
  readonly #abort = new AbortController();
  readonly #calls: WorkflowCalls;
  readonly #spared: SparedRuns;
  readonly #kills: number[] = [];
  #killsInStartup = 0;
  #slowStarts = 0;

  constructor(surroundings: WorkflowKillSurroundings, cases: readonly WorkflowCase[], options: WorkflowKillOptions) {
    this.#surroundings = surroundings;
    this.#cases = cases;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#calls = new WorkflowCalls(surroundings.node, this.#abort.signal);
    this.#spared = new SparedRuns(this.#calls);
  }

  async all(): Promise<WorkflowKillOutcome> {
    const { node, podman, journal, directory, startedAtMs, location } = this.#surroundings;
    const begun = performance.now();
    node.spawn();
    await node.url;
    await this.#deploy();
    // As many at a time as later, so that the kills hit the runs.
    const unkilled = (await this.#lanes(this.#cases)).flat();
    const longestMs = Math.max(...unkilled.map((run) => run.endedAtMs - run.startedAtMs));
    const { seen: runs } = await workUnderKills({
      atATime: this.#options.atATime,
      kinds: this.#cases,
      run: (of) => this.#run(of),
      killer: () => this.#killRepeatedly(longestMs),
      abort: this.#abort,
    });
    const known = [...unkilled, ...runs].reduce((sum, { below }) => sum + 1 + below.length, 0);
    const listed = await this.#listed(known);
    const sweeping = performance.now();
    const left = await untilEmpty(() => containersLeft(podman), SWEEP_MS);
    const sweptAfterMs = performance.now() - sweeping;
    const processesLeft = await processesWith(directory, new Set([process.pid, node.pid]));
    const ended = [...unkilled, ...runs].flatMap(executionsOf).map(({ end }) => end.execution_id);
    const unfinished = await livenessBroken({ location, url: await node.url, ended });
    await node.stop();
    return {
      unfinished,
      unkilled: new Map(unkilled.map((run) => [run.of.name, run])),
      runs,
      kills: this.#kills,
      killsInStartup: this.#killsInStartup,
      slowStarts: this.#slowStarts,
      waits: this.#spared.waits,
      commands: await journalCounts(journal),
      containers: await containerStarts(podman, startedAtMs),
      listed,
      containersLeft: left,
      processesLeft,
      sweptAfterMs,
      tookMs: performance.now() - begun,
    };
  }

  async #deploy(): Promise<void> {
    for (const { name, start, agents, manifests } of this.#cases) {
      for (const agent of agents) await this.#calls.deployAgent(agent);
      for (const manifest of manifests) await this.#calls.deploy(withMarks(manifest, this.#surroundings.journal));
      if (start.by === 'webhook') await this.#calls.route(start.source, name);
    }
  }

  async #lanes(cases: readonly WorkflowCase[]): Promise<RunSeen[][]> {
    const left = [...cases];
    const lane = async (): Promise<RunSeen[]> => {
      const seen: RunSeen[] = [];
      for (let of = left.shift(); of !== undefined; of = left.shift()) seen.push(await this.#run(of));
      return seen;
    };
    return Promise.all(Array.from({ length: this.#options.atATime }, lane));
  }

  async #run(of: WorkflowCase): Promise<RunSeen> {
    const key = randomUUID();
    const name = `${of.name} (key ${key})`;
    const run: KilledRun = { name, id: null, hits: 0 };
    this.#spared.running.add(run);
    try {
      return await runCase(this.#calls, of, key, (id) => {
        run.id = id;
      });
    } catch (error) {
      throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    } finally {
      this.#spared.running.delete(run);
    }
  }

  async #killRepeatedly(longestMs: number): Promise<void> {
    const { node } = this.#surroundings;
    while (this.#kills.length < this.#options.kills) {
      const early = this.#kills.length > 0 && this.#random.chance(STARTUP_SHARE);
      const lifeMs = this.#random.chance(LONG_SHARE) ? LONG_LIFE * longestMs : longestMs;
      const afterMs = this.#random.between(0, early ? STARTUP_MS : lifeMs);
      const listens = !early && (await this.#listening());
      await pause(afterMs, undefined, { signal: this.#abort.signal });
      if (node.crashed) throw new Error('the node ended by itself');
      const answered = await this.#spared.safe(listens);
      if (node.crashed) throw new Error('the node ended by itself');
      if (early && !answered) this.#killsInStartup += 1;
      this.#kills.push(Date.now());
      await node.kill();
      this.#spared.killed();
      node.spawn();
    }
    const late = setTimeout(() => {
      this.#abort.abort(
        new Error(`did not end after the last kill: ${[...this.#spared.running].map(({ name }) => name).join(', ')}`),
      );
    }, SETTLE_MS);
    late.unref();
  }

  /** A node that does not listen in time on a busy machine is killed like the others, and counted. */
  async #listening(): Promise<boolean> {
    const { node } = this.#surroundings;
    try {
      await node.url;
      return true;
    } catch (error) {
      if (node.crashed) throw error;
      this.#slowStarts += 1;
      return false;
    }
  }

  /** Lists lag behind, so their final value counts. */
  async #listed(known: number): Promise<number> {
    const look = async () => (await this.#calls.count()) === known;
    await waitUntil('the list to know every run', look).catch(() => null);
    return this.#calls.count();
  }
}
