import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { z } from 'zod';
import { modelTurn } from './agents.ts';
import { deploy, start, untilAnswered } from './calls.ts';
import { SeededRandom } from './random.ts';
import { JournalFollower } from './raw-journal.ts';
import { type RawLedger, readRawLedger, readRawMongo } from './raw-ledger.ts';
import { leftAtLast, leftIn } from './remaining-records.ts';
import type { StoreKind } from './stores.ts';
import { openSurroundings, type Surroundings } from './surroundings.ts';
import { checkTraces, type TraceFigures } from './trace-checks.ts';
import { explained } from './under-kills.ts';

interface TraceRunOptions {
  readonly store: StoreKind;
  readonly runs: number;
  readonly atATime: number;
  readonly seed: number;
  /** Minimum and maximum number of runs that end between two kills, unless the node was killed while it started. */
  readonly runsALife: readonly [number, number];
}

interface TraceRunOutcome {
  readonly traces: TraceFigures;
  readonly runs: number;
  /** How many runs ended in each status, by kind. */
  readonly ended: Readonly<Record<string, number>>;
  readonly kills: number;
  /** Starts whose first answer the client did not wait for. */
  readonly lostAnswers: number;
  readonly tookMs: number;
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** Share of starts whose answer the client drops, and the time that it waits before. */
const LOST_SHARE = 0.3;
const LOST_MS = 12;
const LOOK_MS = 150;
/** Share of the kills that come while the node starts, and their latest time after its start. */
const STARTUP_SHARE = 0.2;
const STARTUP_MS = 1_500;
/** Longest time from the end of the last run to the kill, so that other runs are anywhere in their work. */
const KILL_AFTER_MS = 400;
/** A run that has not ended after this long hangs. The slowest kind ends itself before: three panels of two minutes each. */
const HANGS_MS = 600_000;
/** A slow document store may be far behind after many kills. */
const PROJECTED_WITHIN_MS = 900_000;

const Status = z.looseObject({ status: z.string() });
const Begun = z.looseObject({ execution_id: z.string() });

const agentYaml = (name: string, spec: object): string =>
  stringify({ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata: { name, version: '1.0.0' }, spec });

const JUDGE = agentYaml('judge', {
  task: { prompt_template: 'JUDGE {{input}}' },
  execution: { mode: 'one-shot' },
});

const JUDGED = agentYaml('judged', {
  task: { prompt_template: 'agent=short key={{input}} iteration={{iteration_number}};' },
  execution: {
    mode: 'iterative',
    max_iterations: 3,
    validation: [{ type: 'multi_judge', judges: ['judge', 'judge'], timeout_seconds: 120 }],
  },
});

const workflowYaml = (name: string, state: object): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0', annotations: { 'svc.dev/on-in-doubt': 'retry' } },
    spec: {
      initial_state: 'STEP',
      states: {
        STEP: { timeout: '5m', transitions: [{ condition: 'always', target: 'END' }], ...state },
        END: { kind: 'System', command: 'finalize', transitions: [] },
      },
    },
  });

/** In the order in which they are deployed: a later one may name an earlier one. */
const WORKFLOWS: Readonly<Record<string, object>> = {
  gate: { kind: 'Human', prompt: 'May I?', default_response: 'yes', timeout: '1s' },
  command: { kind: 'System', command: 'sleep 0.05; echo done' },
  asks: { kind: 'Agent', agent: 'refined', input: 'k' },
  nested: { kind: 'Subworkflow', workflow_id: 'gate' },
  deeper: { kind: 'Subworkflow', workflow_id: 'nested' },
  panel: {
    kind: 'ParallelAgents',
    agents: [1, 2, 3].map((n) => ({ agent: 'judge', input: `draft ${n}`, timeout_seconds: 120 })),
    consensus: { strategy: 'majority' },
  },
};

const AGENTS: readonly string[] = ['short', 'refined', 'hopeless', 'program', 'judged'];

const VERDICT = JSON.stringify({ score: 0.9, confidence: 0.9, reasoning: 'fine' });

/**
 * Random runs of all kinds on one node that is killed repeatedly, with clients that lose answers; then the raw ledger
 * is compared with the appended messages.
 */
export async function runTraces(options: TraceRunOptions): Promise<TraceRunOutcome> {
  await using surroundings = await openSurroundings(options.store);
  const [redis] = surroundings.location.redis ?? [];
  const journal = redis === undefined ? null : new JournalFollower(redis);
  try {
    return await explained(surroundings.node, options.seed, new TraceRun(surroundings, options, journal).run());
  } finally {
    journal?.close();
  }
}

class TraceRun {
  readonly #surroundings: Surroundings;
  readonly #options: TraceRunOptions;
  readonly #random: SeededRandom;
  readonly #abort = new AbortController();
  readonly #agentIds = new Map<string, string>();
  readonly #ended: Record<string, number> = {};
  readonly #executions: { readonly id: string }[] = [];
  readonly #journal: JournalFollower | null;
  #left: number;
  /** Runs that have ended. */
  #done = 0;
  #lost = 0;

  constructor(surroundings: Surroundings, options: TraceRunOptions, journal: JournalFollower | null) {
    this.#surroundings = surroundings;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#left = options.runs;
    this.#journal = journal;
  }

  async run(): Promise<TraceRunOutcome> {
    const { node, model } = this.#surroundings;
    const begun = performance.now();
    model.answer((call) => {
      return JSON.stringify(call.body).includes('JUDGE') ? { chunks: [VERDICT], delayMs: 5 } : modelTurn(call);
    });
    node.spawn();
    // The first start is not a restart by the killer.
    await node.url;
    await this.#deploy();
    const lanes = Promise.all(Array.from({ length: this.#options.atATime }, () => this.#lane()));
    const killing = this.#killUntil(lanes);
    lanes.catch((error: unknown) => this.#abort.abort(error));
    killing.catch((error: unknown) => this.#abort.abort(error));
    await lanes;
    const kills = await killing;
    await node.url;
    // The journals of logs that partitions share are not in `leftIn`.
    await this.#journal?.untilTrimmed(PROJECTED_WITHIN_MS);
    await leftAtLast(node, () => this.#surroundings.withStores((stores) => leftIn(stores, this.#executions)));
    return {
      traces: checkTraces(await this.#raw()),
      runs: this.#options.runs,
      ended: this.#ended,
      kills,
      lostAnswers: this.#lost,
      tookMs: performance.now() - begun,
    };
  }

  async #raw(): Promise<RawLedger> {
    const { dataDir, mongodb } = this.#surroundings.location;
    if (this.#journal === null || mongodb === undefined) return readRawLedger(dataDir);
    return readRawMongo(mongodb, await this.#journal.stop());
  }

  async #deploy(): Promise<void> {
    const { node, agents } = this.#surroundings;
    const { signal } = this.#abort;
    const manifests = new Map(agents.map(({ name, manifest }) => [name, manifest]));
    manifests.set('judge', JUDGE).set('judged', JUDGED);
    for (const name of ['judge', ...AGENTS]) {
      this.#agentIds.set(name, await deploy(node, { manifest: manifests.get(name) ?? '' }, signal));
    }
    for (const [name, state] of Object.entries(WORKFLOWS)) {
      const headers = { 'content-type': 'application/yaml' };
      await untilAnswered(node, '/v1/workflows', { method: 'POST', headers, body: workflowYaml(name, state) }, signal);
    }
  }

  async #lane(): Promise<void> {
    const kinds = [...AGENTS, ...Object.keys(WORKFLOWS)];
    while (this.#left > 0) {
      this.#left -= 1;
      const kind = kinds[this.#random.between(0, kinds.length)] ?? 'short';
      const status = await (kind in WORKFLOWS ? this.#workflow(kind) : this.#agent(kind));
      const name = `${kind} ${status}`;
      this.#ended[name] = (this.#ended[name] ?? 0) + 1;
      this.#done += 1;
    }
  }

  async #agent(name: string): Promise<string> {
    const { node } = this.#surroundings;
    const key = randomUUID();
    const agentId = this.#agentIds.get(name) ?? '';
    await this.#maybeLose((signal) => start(node, agentId, key, signal));
    const id = await start(node, agentId, key, this.#abort.signal);
    this.#executions.push({ id });
    return this.#end(`/v1/executions/${id}`);
  }

  async #workflow(name: string): Promise<string> {
    const { node } = this.#surroundings;
    const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
    const init = { method: 'POST', headers, body: JSON.stringify({ input: {} }) };
    const call = (signal: AbortSignal) => untilAnswered(node, `/v1/workflows/${name}/run`, init, signal);
    await this.#maybeLose(call);
    const { execution_id: id } = Begun.parse(await call(this.#abort.signal));
    return this.#end(`/v1/workflows/executions/${id}`);
  }

  /** Sometimes sends a call and disconnects before its answer; the call with the same key follows. */
  async #maybeLose(call: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    if (!this.#random.chance(LOST_SHARE)) return;
    this.#lost += 1;
    // The answer is dropped on purpose, so the result of this call is not read.
    await call(AbortSignal.timeout(this.#random.between(1, LOST_MS))).catch(() => undefined);
  }

  async #end(path: string): Promise<string> {
    for (const begun = Date.now(); ; ) {
      if (Date.now() - begun > HANGS_MS) {
        const why = await untilAnswered(this.#surroundings.node, `${path}/why`, {}, this.#abort.signal);
        throw new Error(`${path} does not end: ${JSON.stringify(why)}`);
      }
      const { status } = Status.parse(await untilAnswered(this.#surroundings.node, path, {}, this.#abort.signal));
      if (ENDED.has(status)) return status;
      await pause(LOOK_MS);
    }
  }

  /** Sends kill -9 when some runs have ended, or while the node starts, until the work is done. */
  async #killUntil(work: Promise<unknown>): Promise<number> {
    const { node } = this.#surroundings;
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    work.then(over, over);
    for (let kills = 0; ; kills += 1) {
      const isEarly = this.#random.chance(STARTUP_SHARE);
      if (!isEarly) await this.#someRuns(() => isOver);
      await pause(this.#random.between(0, isEarly ? STARTUP_MS : KILL_AFTER_MS));
      if (isOver) return kills;
      if (node.crashed) throw new Error('the node ended by itself');
      await node.kill();
      node.spawn();
    }
  }

  /** Resolves when the node listens and a few more runs have ended. */
  async #someRuns(isOver: () => boolean): Promise<void> {
    const due = this.#done + this.#random.between(...this.#options.runsALife);
    await this.#surroundings.node.url;
    while (this.#done < due && !isOver()) await pause(LOOK_MS);
  }
}

/** The figures as lines of text. */
export function traceLines({ traces, runs, ended, kills, lostAnswers, tookMs }: TraceRunOutcome): string[] {
  const { appends, deliveries, writtenTwice, calls, largest, linked, broken } = traces;
  const statuses = Object.entries(ended)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`);
  return [
    `${runs} runs, ${kills} kills, ${lostAnswers} lost answers in ${Math.round(tookMs / 1_000)} s`,
    `  ended: ${statuses.join(', ')}`,
    `  ${appends} appends, ${deliveries} deliveries, ${writtenTwice} written twice by a crash`,
    `  ${calls} client calls, the largest trace of ${largest} deliveries, ${linked} linked`,
    `  broken: ${broken.length}`,
    ...broken.slice(0, 20).map((line) => `    ${line}`),
  ];
}
