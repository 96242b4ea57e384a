import { existsSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { z } from 'zod';
import { removeTree } from '../../../effects/volumes/tree.ts';
import { SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { SeededRandom } from '../../kill/random.ts';
import type { StoreKind } from '../../kill/stores.ts';
import { type Answer, ProductNode } from '../../product/product-node.ts';
import { startMongo, type TestMongo } from '../../support/ferretdb.ts';
import { type Journal, makeJournal } from '../../support/journal.ts';
import { type Link, startLink } from '../../support/link.ts';
import { LIVENESS_MS, livenessBroken } from '../../support/liveness.ts';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { startRedis } from '../../support/redis.ts';
import { type Area, areasOf, MARKS, rules } from './away-areas.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';

export type AwayStore = 'documents' | 'redis';
/** Kind of outage: the store refuses calls, does not answer, or is only slow. */
type AwayHow = 'refused' | 'silent' | 'slow';

interface Outage {
  readonly how: AwayHow;
  readonly forMs: number;
  /** Number of runs of each area. */
  readonly runsOfAnArea?: number;
  /** Limit from the end of the outage; a run that takes longer counts as hung. */
  readonly quietWithinMs?: number;
}

const LONGEST_MS = 60_000;
/** Durations of the rounds in turn: most are short, and each ten contain all three durations. */
const DURATIONS_MS = [2_000, 15_000, 2_000, LONGEST_MS, 2_000, 15_000, 2_000, 2_000, 15_000, 2_000] as const;
const SLOW_MS = 100;
const NODES = 2;
/** Limit for a call that needs the store during an outage: 5 s, and a margin for a busy machine. */
export const REFUSED_WITHIN_MS = 5_000;
const STARTED_WITHIN_MS = 60_000;
/** Limit on a machine that runs other tests at the same time. */
const RECOVERED_WITHIN_MS = 90_000;
const RUNS_OF_AN_AREA = 2;
/**
 * Interval of the reads of each run: shorter ones would be much of the load of the nodes and of their document store.
 */
const LOOK_EVERY_MS = 500;

interface Run {
  readonly area: Area;
  /** Id of the run. For a delivery it comes when its workflow was started. */
  readonly id: Promise<string>;
}

/** One ended run. */
interface Ended {
  readonly run: Run;
  readonly id: string;
  readonly status: string;
  readonly text: string;
  /** Time by `performance.now()` at which its end was read. */
  readonly seenAt: number;
}

const Approvals = z.object({ pending_requests: z.array(z.looseObject({ id: z.string(), execution_id: z.string() })) });

/** Two nodes over stores whose outages can be simulated, with all areas deployed. */
export class AwaySetup implements FaultStores {
  readonly #store: AwayStore;
  readonly #redis: string;
  readonly #mongo: TestMongo;
  readonly #nodes: readonly ProductNode[];
  readonly #link: Link;
  readonly #areas: readonly Area[];
  readonly #journal: Journal;
  readonly #volumes: string;
  readonly #close: () => Promise<void>;
  #delivered = 0;
  #rounds = 0;
  #agents = new Map<string, string>();
  /** Duration and status of each call that needed the store during an outage. */
  readonly refusals: { readonly status: number; readonly ms: number }[] = [];

  private constructor(parts: {
    readonly store: AwayStore;
    readonly redis: string;
    readonly mongo: TestMongo;
    readonly nodes: readonly ProductNode[];
    readonly link: Link;
    readonly areas: readonly Area[];
    readonly journal: Journal;
    readonly volumes: string;
    readonly close: () => Promise<void>;
  }) {
    this.#store = parts.store;
    this.#redis = parts.redis;
    this.#mongo = parts.mongo;
    this.#nodes = parts.nodes;
    this.#link = parts.link;
    this.#areas = parts.areas;
    this.#journal = parts.journal;
    this.#volumes = parts.volumes;
    this.#close = parts.close;
  }

  static async open(store: AwayStore, options: { readonly containers?: boolean } = {}): Promise<AwaySetup> {
    await using opened = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), 'svc-away-'));
    opened.defer(() => removeTree(directory));
    const [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
    opened.defer(() => redis.stop());
    opened.defer(() => mongo.stop());
    const engine =
      options.containers === true && NEEDS_PODMAN.skip === undefined ? await TestPodman.start({ own: true }) : null;
    if (engine !== null) opened.defer(() => engine[Symbol.asyncDispose]());
    const journal = await makeJournal(directory);
    const volumes = join(directory, 'volumes');
    const link = await startLink(store === 'redis' ? redis.port : Number(new URL(mongo.uri).port));
    opened.defer(() => link.close());
    const over = (url: string): string => url.replace(new URL(url).port, String(link.port));
    const stores = {
      redis: store === 'redis' ? over(redis.url) : redis.url,
      mongodb: store === 'documents' ? over(mongo.uri) : mongo.uri,
    };
    const spec = {
      ...{ stores, kernel: { partitions: 16 } },
      storage: { local_host: { mount_point: volumes } },
      stimulus: { router_agent: 'away-router', classification_timeout_secs: 600 },
      runtime: { ...journal.runtime, ...(engine === null ? {} : { container_socket_path: engine.socketPath }) },
    };
    const starting = Array.from({ length: NODES }, () => ProductNode.start({ rules: rules(), spec }));
    for (const node of starting) opened.defer(async () => (await node)[Symbol.asyncDispose]());
    const nodes = await Promise.all(starting);
    const areas = areasOf(store, journal.file, engine !== null);
    const all = opened.move();
    const servers = { redis: redis.url, mongo };
    const close = () => all.disposeAsync();
    const setup = new AwaySetup({ store, ...servers, nodes, link, areas, journal, volumes, close });
    await setup.#deploy();
    return setup;
  }

  get logs(): string {
    return this.#nodes.map(({ process }) => process.log).join('\n');
  }

  async round(seed: number): Promise<RoundOutcome> {
    const random = new SeededRandom(seed);
    const forMs = DURATIONS_MS[this.#rounds % DURATIONS_MS.length] ?? 2_000;
    this.#rounds += 1;
    return this.outage({ how: random.chance(0.3) ? 'silent' : 'refused', forMs, quietWithinMs: LIVENESS_MS });
  }

  /** Runs of all areas under one outage, until all have ended. */
  async outage({
    how,
    forMs,
    runsOfAnArea = RUNS_OF_AN_AREA,
    quietWithinMs = RECOVERED_WITHIN_MS,
  }: Outage): Promise<RoundOutcome> {
    const before = this.#nodes.filter(({ process }) => process.crashed).length;
    const runs = Array.from({ length: runsOfAnArea }, () => this.#areas.map((area) => this.#begin(area))).flat();
    // A delivery is answered late; all other runs are acknowledged before the outage.
    await Promise.all(runs.filter(({ area }) => !('stimulus' in area.start)).map(({ id }) => id));
    const asked = await this.#approvals(runs);
    const awaySince = performance.now();
    if (how === 'refused') this.#link.refuse();
    else if (how === 'silent') this.#link.cut('both');
    else this.#link.slow(SLOW_MS);
    const answering = Promise.all(asked.map((id) => this.#answer(id)));
    const probing = how === 'slow' ? Promise.resolve() : this.#starts(() => performance.now() - awaySince < forMs);
    await pause(forMs - (performance.now() - awaySince));
    this.#link.heal();
    const backAt = performance.now();
    const until = backAt + quietWithinMs;
    const ended = await Promise.all(runs.map((run) => this.#end(run, until)));
    await Promise.all([answering, probing]);
    const withinMs = Math.max(0, until - performance.now());
    const loud = await livenessBroken({
      location: { dataDir: '', redis: [this.#redis] },
      url: this.#nodes[0]?.url ?? '',
      mostListed: runs.length,
      ended: ended.map(({ id }) => id),
      withinMs,
    });
    const recoveryMs = Math.max(0, Math.round(performance.now() - backAt));
    const slowest = ended.toSorted((a, b) => b.seenAt - a.seenAt)[0];
    const last = `the last to end was ${slowest?.run.area.name} ${slowest?.id}`;
    const outcome = await this.#count(ended, { recoveryMs, ended: before, forMs, how, last, loud });
    await this.#clear();
    return outcome;
  }

  /**
   * Removes the blobs of ended runs: the server of these tests has no indexes and scans all blobs at each read, so
   * after twenty rounds the runs would wait for it and not for the outage.
   */
  async #clear(): Promise<void> {
    if (this.#mongo.external) return;
    const client = new MongoClient(this.#mongo.uri);
    try {
      for (const name of ['blobs.chunks', 'blobs.files']) await client.db('svc').collection(name).deleteMany({});
    } finally {
      await client.close();
    }
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #deploy(): Promise<void> {
    const [node] = this.#nodes;
    if (node === undefined) throw new Error('no node');
    const headers = { 'content-type': 'application/yaml' };
    for (const { agents, workflows } of this.#areas) {
      for (const yaml of agents) {
        const name = /name: (\S+)/.exec(yaml)?.[1] ?? '';
        this.#agents.set(name, await node.deploy(yaml));
      }
      for (const body of workflows) {
        const { status, text } = await node.call('POST', '/v1/workflows', { body, headers });
        if (status !== 200) throw new Error(`deploy: ${status} ${text}`);
      }
    }
  }

  #begin(area: Area): Run {
    const { start } = area;
    const id = this.#started(start);
    // It is awaited at the end; an earlier failure is reported then.
    id.catch(() => {});
    return { area, id };
  }

  async #started(start: Area['start']): Promise<string> {
    if ('agent' in start) return this.#id('/v1/executions', { agent_id: this.#agents.get(start.agent), input: 'x' });
    if ('workflow' in start) return this.#id(`/v1/workflows/${start.workflow}/run`, {});
    this.#delivered += 1;
    return this.#id('/v1/stimuli', {
      ...{ source: start.stimulus, content: '{"a": 1}', idempotency_key: `delivery-${this.#delivered}` },
    });
  }

  /** Repeats the request under the same key until it is accepted, as a sender does. */
  async #id(path: string, body: object): Promise<string> {
    const deadline = performance.now() + LONGEST_MS + STARTED_WITHIN_MS;
    const headers = { 'idempotency-key': crypto.randomUUID() };
    for (;;) {
      const answer = await this.#call('POST', path, body, headers);
      const { execution_id, workflow_execution_id } = answer?.body ?? {};
      const id = execution_id ?? workflow_execution_id;
      if ((answer?.status === 200 || answer?.status === 409) && typeof id === 'string') return id;
      if (performance.now() > deadline) throw new Error(`${path}: ${answer?.status} ${answer?.text}`);
      await pause(250);
    }
  }

  async #call(method: string, path: string, body?: object, headers = {}): Promise<Answer | null> {
    const node = this.#nodes[0];
    if (node === undefined) throw new Error('no node');
    // A node that has exited is found by the counts.
    return node.json(method, path, body, headers).catch(() => null);
  }

  async #approvals(runs: readonly Run[]): Promise<string[]> {
    const wanted = new Set(await Promise.all(runs.filter(({ area }) => area.isAsked === true).map(({ id }) => id)));
    const deadline = performance.now() + STARTED_WITHIN_MS;
    for (;;) {
      const answer = await this.#call('GET', '/v1/human-approvals?limit=200');
      const pending = Approvals.safeParse(answer?.body).data?.pending_requests ?? [];
      const found = pending.filter(({ execution_id }) => wanted.has(execution_id)).map(({ id }) => id);
      if (found.length === wanted.size) return found;
      if (performance.now() > deadline) throw new Error(`${found.length} of ${wanted.size} humans were asked`);
      await pause(50);
    }
  }

  async #answer(approval: string): Promise<void> {
    const deadline = performance.now() + LONGEST_MS + RECOVERED_WITHIN_MS;
    for (;;) {
      const answer = await this.#call('POST', `/v1/human-approvals/${approval}/approve`, { feedback: 'yes' });
      if (answer?.status === 200 || answer?.status === 409) return;
      if (performance.now() > deadline) throw new Error(`the answer was not taken: ${answer?.status} ${answer?.text}`);
      await pause(250);
    }
  }

  /** New starts during the outage: each is refused in time. */
  async #starts(isAway: () => boolean): Promise<void> {
    while (isAway()) {
      const since = performance.now();
      const answer = await this.#call('POST', '/v1/executions', {
        agent_id: this.#agents.get('away-quick'),
        input: 'x',
      });
      if (isAway()) this.refusals.push({ status: answer?.status ?? 0, ms: Math.round(performance.now() - since) });
      await pause(500);
    }
  }

  async #end(run: Run, deadline: number): Promise<Ended> {
    let id = '';
    let status = 'not started';
    let text = '';
    try {
      id = await run.id;
      const path = 'agent' in run.area.start ? `/v1/executions/${id}` : `/v1/workflows/executions/${id}`;
      do {
        const answer = await this.#call('GET', path);
        if (answer?.status === 200) [status, text] = [String(answer.body.status), answer.text];
        if (status === 'completed' || status === 'failed' || status === 'cancelled') break;
        await pause(LOOK_EVERY_MS);
      } while (performance.now() < deadline);
    } catch (thrown) {
      text = String(thrown);
    }
    return { run, id, status, text, seenAt: performance.now() };
  }

  async #count(
    ended: readonly Ended[],
    round: {
      readonly recoveryMs: number;
      readonly ended: number;
      readonly forMs: number;
      readonly how: string;
      readonly last: string;
      readonly loud: readonly string[];
    },
  ): Promise<RoundOutcome> {
    const notes = [`${this.#store} ${round.how} for ${round.forMs / 1_000} s; ${round.last}`];
    const lines = await this.#journal.lines();
    for (const { id } of ended) {
      const marks = await linesOf(join(this.#volumes, SYSTEM_TENANT, id, MARKS));
      lines.push(...marks.map((mark) => `${id} ${mark}`));
    }
    notes.push(...round.loud);
    const outcome = { hung: round.loud.length, lost: 0, repeated: 0 };
    for (const { run, id, status, text } of ended) {
      const { name, marks } = run.area;
      const over = status === 'completed' || status === 'failed' || status === 'cancelled';
      if (!over) outcome.hung += 1;
      else if (status !== 'completed' || !text.includes('ended well')) outcome.lost += 1;
      if (!over || status !== 'completed' || !text.includes('ended well')) {
        notes.push(`${name} ${id}: ${status} ${text.slice(0, 600)}`);
      }
      for (const wanted of marks) {
        const left = lines.filter((line) => line === `${id} ${wanted}`).length;
        if (left > 1) outcome.repeated += left - 1;
        if (left !== 1) notes.push(`${name} ${id}: ${left} marks of ${wanted}`);
        if (left === 0 && status === 'completed') outcome.lost += 1;
      }
    }
    const crashed = this.#nodes.filter(({ process }) => process.crashed).length;
    const { recoveryMs } = round;
    return { runs: ended.length, nodesEnded: crashed - round.ended, recoveryMs, ...outcome, notes };
  }
}

const linesOf = async (file: string): Promise<string[]> =>
  existsSync(file) ? (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '') : [];

const open = (store: AwayStore) => async (_kind: StoreKind, _seed: number) =>
  AwaySetup.open(store, { containers: true });

export const documentsAway: FaultCase = {
  name: 'documents-away',
  title:
    'documents are away for 2, 15 or 60 s: every run of every area ends as without the outage within 30 s, and no command runs twice',
  stores: ['redis'],
  open: open('documents'),
};

/** Commands on the host under an outage of Redis have a case of their own. */
export const storesAway: FaultCase = {
  name: 'stores-away',
  title:
    'Redis is away for 2, 15 or 60 s: runs of agents, children, judges, stimuli, approvals end as without the outage within 30 s',
  stores: ['redis'],
  open: open('redis'),
};
