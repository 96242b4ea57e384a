import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { type Address, addressOf } from '../../../runtime/address.ts';
import { type KillAgent, killAgents, modelTurn } from '../../kill/agents.ts';
import { deploy, finalStatus, start } from '../../kill/calls.ts';
import { followExecution } from '../../kill/follower.ts';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { packNode } from '../../support/cluster/packaged-node.ts';
import { startModelServer } from '../../support/model-server.ts';
import { TENANT } from '../addresses.ts';
import { LOST_ANSWERS } from '../lost-answers.ts';
import { barBroken, type ScenarioReport, timeLines } from '../report.ts';

export interface RollingOptions {
  readonly nodes: number;
  /** Executions that run at a time, each followed by a client. */
  readonly atATime: number;
  /** Number of actors that are asked continuously. */
  readonly actors: number;
  /** Pause of each client of an actor between its asks. */
  readonly thinkMs: number;
  /** Pause of each client between its executions. */
  readonly restMs: number;
  /** The longest pause of an actor, p99. */
  readonly barMs: number;
  /** Whether nodes start as the npm package does, or from the sources, which takes less time to prepare. */
  readonly packaged: boolean;
  readonly seed: number;
}

const Ticked = z.object({ value: z.number() });
const AGENTS = ['short', 'refined', 'long', 'big'];

/** Every node is restarted under load: no run fails, no stream has a gap, and no actor is unavailable for long. */
export async function rolling(options: RollingOptions): Promise<ScenarioReport> {
  const { nodes, seed } = options;
  const model = await startModelServer();
  model.answer(modelTurn);
  const provider = {
    name: 'local',
    type: 'openai-compatible',
    endpoint: `${model.url}/v1`,
    api_key: 'literal:none',
    models: [{ alias: 'default', model: 'chaos-test' }],
  };
  const workload = new URL('../workload.ts', import.meta.url);
  using packaged = options.packaged ? await packNode('test/chaos/packaged-node.ts') : undefined;
  const cluster = await startCluster({
    ambiguity: LOST_ANSWERS,
    nodes,
    adapters: 1,
    seed,
    workload,
    config: { llm_providers: [provider] },
    ...(packaged === undefined ? {} : { packaged }),
  });
  try {
    return await cluster.explained(new Rolling(cluster, options).run());
  } finally {
    await cluster.destroy();
    await model.stop();
  }
}

class Rolling {
  readonly #cluster: Cluster;
  readonly #options: RollingOptions;
  readonly #abort = new AbortController();
  readonly #broken: string[] = [];
  readonly #stopMs: number[] = [];
  readonly #longestMs: number[] = [];
  #stopping: string | null = null;
  #turn = 0;
  #isRolling = true;
  readonly #ended: string[] = [];
  #events = 0;
  #resumed = 0;

  constructor(cluster: Cluster, options: RollingOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /** Chooses a node as a load balancer does: one that runs and is not being stopped. */
  get url(): Promise<string> {
    const open = this.#cluster.running.filter(({ name }) => name !== this.#stopping);
    this.#turn += 1;
    const node = open[this.#turn % Math.max(1, open.length)];
    if (node === undefined) return Promise.reject(new Error('no node is up'));
    return node.ready.then(({ rest }) => rest ?? Promise.reject(new Error(`${node.name} serves no REST`)));
  }

  async run(): Promise<ScenarioReport> {
    const { nodes, atATime, actors, barMs, seed } = this.#options;
    await this.#cluster.settled('before the restarts');
    const agents = killAgents({ program: '', runs: '' }).filter(({ name }) => AGENTS.includes(name));
    const ids = new Map<string, string>();
    for (const agent of agents) ids.set(agent.name, await deploy(this, agent, this.#abort.signal));
    const lanes = Array.from({ length: atATime }, (_, lane) => this.#lane(agents, ids, lane));
    const asked = Array.from({ length: actors }, () => this.#keepAsking(addressOf('ticker', TENANT, randomUUID())));
    const all = Promise.all([this.#roll(), ...lanes, ...asked]);
    // The first failure aborts the rest.
    all.catch((error: unknown) => this.#abort.abort(error));
    await all;
    const title = `rolling restart of ${nodes} nodes, ${atATime} runs at a time`;
    return {
      title,
      seed,
      lines: [
        `${this.#ended.length} runs, ${this.#events} events followed, ${this.#resumed} streams resumed elsewhere: no gap, no repeat`,
        ...timeLines('a node to stop', this.#stopMs),
        ...timeLines('longest pause of each actor', this.#longestMs),
      ],
      broken: [
        ...this.#broken,
        ...barBroken('longest pause of an actor', this.#longestMs, 0.99, barMs),
        ...(await this.#cluster.livenessBroken(this.#ended)),
        ...this.#cluster.crashed.map((name) => `${name} ended by itself`),
      ],
    };
  }

  async #roll(): Promise<void> {
    for (const name of this.#cluster.names) {
      this.#stopping = name;
      const begun = performance.now();
      await this.#cluster.stop(name);
      this.#stopMs.push(performance.now() - begun);
      await this.#cluster.start(name);
      this.#stopping = null;
      await this.#cluster.settled(`after the restart of ${name}`);
    }
    this.#isRolling = false;
  }

  async #lane(agents: readonly KillAgent[], ids: ReadonlyMap<string, string>, lane: number): Promise<void> {
    for (let turn = lane; this.#isRolling; turn += 1) {
      const agent = agents[turn % agents.length];
      if (agent === undefined) throw new Error('no agents');
      await this.#execute(agent, ids.get(agent.name) ?? '');
      await pause(this.#options.restMs);
    }
  }

  async #execute(agent: KillAgent, agentId: string): Promise<void> {
    const { signal } = this.#abort;
    const id = await start(this, agentId, randomUUID(), signal);
    const followed = await followExecution(id, { url: () => this.url, onEvent: () => {}, signal });
    const { status, last_error } = await finalStatus(this, id, signal);
    this.#ended.push(id);
    this.#events += followed.events.length;
    this.#resumed += Math.max(0, followed.connections - 1);
    if (status !== 'completed') this.#broken.push(`a run of ${agent.name} is ${status}: ${last_error}`);
  }

  async #keepAsking(address: Address): Promise<void> {
    let longestMs = 0;
    for (let due = 1; this.#isRolling; due += 1) {
      const begun = performance.now();
      const { value } = Ticked.parse(await this.#cluster.client.ask(address, 'Tick', {}, { tryMs: 30_000 }));
      longestMs = Math.max(longestMs, performance.now() - begun);
      if (value !== due) this.#broken.push(`${address} answered ${value} where ${due} was due`);
      // Clients pause between asks, since the test measures pauses of actors and not throughput.
      await pause(this.#options.thinkMs);
    }
    this.#longestMs.push(longestMs);
  }
}
