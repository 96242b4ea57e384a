import { randomUUID } from 'node:crypto';
import { livenessBroken } from '../support/liveness.ts';
import type { KillAgent } from './agents.ts';
import { cancel, deploy, type FinalStatus, finalStatus, start } from './calls.ts';
import { type Followed, followExecution, isFinal } from './follower.ts';
import { killRepeatedly } from './killer.ts';
import { SeededRandom } from './random.ts';
import { readRawLedger } from './raw-ledger.ts';
import { type RecordedResult, recordedResults } from './record.ts';
import { RecoveryTimes } from './recovery.ts';
import { type Left, leftAtLast, leftIn } from './remaining-records.ts';
import type { StoreKind } from './stores.ts';
import { type ModelCallSeen, openSurroundings, type Surroundings } from './surroundings.ts';
import { checkTraces, type TraceFigures } from './trace-checks.ts';
import { explained, workUnderKills } from './under-kills.ts';

export interface ChaosOptions {
  readonly kind: StoreKind;
  readonly kills: number;
  readonly seed: number;
  /** Executions that run at a time. */
  readonly atATime: number;
}

/** One execution from its start to its end, as its client saw it. */
export interface ExecutionSeen {
  readonly agent: KillAgent;
  readonly key: string;
  readonly id: string;
  readonly followed: Followed;
  readonly status: FinalStatus;
  /** Time at which the client's cancel was acknowledged; null when it sent none or sent it too late. */
  readonly cancelledAtMs: number | null;
}

/** Results for the checks and the figures. */
export interface ChaosOutcome {
  /** Unkilled executions, one of each agent. */
  readonly baseline: ReadonlyMap<string, ExecutionSeen>;
  readonly executions: readonly ExecutionSeen[];
  readonly calls: readonly ModelCallSeen[];
  /** Lines `execution iteration`. */
  readonly runs: readonly string[];
  readonly recorded: readonly RecordedResult[];
  /** Records of them that are left in the actor store when all have ended. */
  readonly left: Left;
  /** Runs that were still under way 30 s after the last kill (test/support/liveness.ts). */
  readonly unfinished: readonly string[];
  /** The ledger compared with its raw files; null for a store whose files are not read. */
  readonly traces: TraceFigures | null;
  readonly recovery: RecoveryTimes;
  /** Kills before the node listened. */
  readonly killsInStartup: number;
  readonly tookMs: number;
  readonly log: string;
}

/** Runs executions of all agents while the node is killed repeatedly; returns the results. */
export async function runChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  await using surroundings = await openSurroundings(options.kind);
  return await explained(surroundings.node, options.seed, new Chaos(surroundings, options).run());
}

class Chaos {
  readonly #surroundings: Surroundings;
  readonly #options: ChaosOptions;
  readonly #random: SeededRandom;
  readonly #recovery = new RecoveryTimes();
  readonly #running = new Set<string>();
  readonly #abort = new AbortController();
  readonly #agentIds = new Map<string, string>();
  /** Resolvers of the clients that wait for the next event of a stream. */
  #waiting: (() => void)[] = [];
  #killsInStartup = 0;

  constructor(surroundings: Surroundings, options: ChaosOptions) {
    this.#surroundings = surroundings;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<ChaosOutcome> {
    const { node, agents, calls } = this.#surroundings;
    const begun = performance.now();
    node.spawn();
    for (const agent of agents) this.#agentIds.set(agent.name, await deploy(node, agent, this.#abort.signal));
    const unkilled = await Promise.all(agents.map((agent) => this.#execute(agent)));
    const executions = await this.#killWhileRunning();
    const ended = executions.map(({ id }) => id);
    const unfinished = await livenessBroken({ location: this.#surroundings.location, url: await node.url, ended });
    const left = await leftAtLast(node, () => this.#surroundings.withStores((stores) => leftIn(stores, executions)));
    return {
      baseline: new Map(unkilled.map((seen) => [seen.agent.name, seen])),
      executions,
      calls,
      runs: await this.#surroundings.runs(),
      recorded: await this.#surroundings.withStores(recordedResults),
      left,
      unfinished,
      traces: this.#tracesOf(),
      recovery: this.#recovery,
      killsInStartup: this.#killsInStartup,
      tookMs: performance.now() - begun,
      log: node.log,
    };
  }

  #tracesOf(): TraceFigures | null {
    const { dataDir } = this.#surroundings.location;
    return this.#options.kind === 'sqlite' ? checkTraces(readRawLedger(dataDir)) : null;
  }

  async #killWhileRunning(): Promise<ExecutionSeen[]> {
    const { node, agents } = this.#surroundings;
    const { seen, killed } = await workUnderKills({
      atATime: this.#options.atATime,
      kinds: agents,
      run: (agent) => this.#execute(agent),
      killer: () =>
        killRepeatedly(node, this.#options, {
          random: this.#random,
          recovery: this.#recovery,
          running: this.#running,
          nextEvent: () => new Promise((resolve) => this.#waiting.push(resolve)),
          abort: this.#abort,
        }),
      abort: this.#abort,
    });
    this.#killsInStartup = killed;
    return seen;
  }

  async #execute(agent: KillAgent): Promise<ExecutionSeen> {
    const { node } = this.#surroundings;
    const { signal } = this.#abort;
    const key = randomUUID();
    const id = await start(node, this.#agentIds.get(agent.name) ?? '', key, signal);
    this.#running.add(id);
    let cancelled: Promise<number | null> | null = null;
    const followed = await followExecution(id, {
      url: () => node.url,
      onEvent: ({ atMs, name }) => {
        this.#recovery.saw(id, atMs);
        if (!isFinal({ name })) for (const resolve of this.#waiting.splice(0)) resolve();
        if (!agent.cancelled || name !== 'iteration_output') return;
        cancelled ??= cancel(node, id, signal).then((counts) => (counts ? Date.now() : null));
      },
      signal,
    });
    this.#running.delete(id);
    return { agent, key, id, followed, status: await finalStatus(node, id, signal), cancelledAtMs: await cancelled };
  }
}
