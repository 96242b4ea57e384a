import { randomUUID } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type KillStores, type StoreKind, startStores } from '../../kill/stores.ts';
import { livenessBroken } from '../../support/liveness.ts';
import { NodeProcess } from '../../support/node-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { ScenarioReport } from '../report.ts';

export interface RetentionSoakOptions {
  readonly store: StoreKind;
  /** Duration of the load. */
  readonly forMs: number;
  /** `spec.retention`: of runs, ledger and dead letters. */
  readonly retentionMs: number;
  readonly sampleMs: number;
  readonly startsPerSecond: number;
  readonly seed: number;
}

interface Sample {
  readonly atMs: number;
  readonly started: number;
  readonly dataBytes: number;
  readonly rssBytes: number;
  readonly descriptors: number;
  readonly redisKeys: number;
  readonly redisBytes: number;
}

/** Allowed growth between the middle and the last third of the samples: this share, or this much. */
const MOST_GROWTH = 0.1;
const SLACK: Readonly<Record<keyof Omit<Sample, 'atMs' | 'started'>, number>> = {
  dataBytes: 8 * 1024 * 1024,
  rssBytes: 48 * 1024 * 1024,
  descriptors: 24,
  redisKeys: 300,
  redisBytes: 4 * 1024 * 1024,
};

const WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: soak, version: "1.0.0" }
spec:
  initial_state: KEEP
  states:
    KEEP: { kind: System, command: update_blackboard, env: { kept: "{{input.text}}" }, transitions: [{ target: DONE }] }
    DONE: { kind: System, command: update_blackboard, env: { done: "yes" }, transitions: [] }
`;
const AGENT = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: soak, version: "1.0.0" }
spec:
  task: { instruction: "Answer." }
`;
const SCRIPT = 'rules:\n  - reply: {text: fine, chunks: 4}\n';
/** One of this many runs is so large that its state is stored separately. */
const LARGE_EACH = 10;
const LARGE_CHARS = 80_000;

/**
 * A node under steady load with retention of minutes: its stored data and its memory reach a plateau. A third of the runs are
 * of agents, the others of workflows, a tenth of these with large states; every twentieth run is deleted right after its start.
 */
export async function retentionSoak(options: RetentionSoakOptions): Promise<ScenarioReport> {
  const { store, forMs, retentionMs, sampleMs, startsPerSecond, seed } = options;
  const stores = await startStores(store);
  const { dataDir } = stores.location;
  const config = join(dataDir, 'svc-soak.yaml');
  await writeFile(join(dataDir, 'script.yaml'), SCRIPT);
  await writeFile(config, configOf(options, join(dataDir, 'script.yaml')));
  const node = new NodeProcess([...stores.args, '--config', config]);
  const redis = stores.location.redis?.[0] === undefined ? null : new Redis(stores.location.redis[0]);
  const samples: Sample[] = [];
  const load = new Load(node);
  const broken: string[] = [];
  try {
    node.spawn();
    await load.deploy();
    const begunAt = performance.now();
    let nextSampleAt = sampleMs;
    for (let count = 0; performance.now() - begunAt < forMs; count += 1) {
      const dueMs = (count * 1_000) / startsPerSecond;
      const aheadMs = dueMs - (performance.now() - begunAt);
      if (aheadMs > 0) await pause(aheadMs);
      load.start(count);
      if (performance.now() - begunAt < nextSampleAt) continue;
      nextSampleAt += sampleMs;
      const sample = await sampleOf(node, stores, redis, load.started, performance.now() - begunAt);
      samples.push(sample);
      if (process.env.CI !== 'true') console.log(rowOf(sample));
    }
    await load.settle();
    broken.push(...growthOf(samples), ...(await load.checkRemoved(retentionMs)));
    broken.push(...(await livenessBroken({ location: stores.location, url: await node.url, ended: load.ids })));
    if (node.crashed) broken.push(`the node ended: ${node.log.slice(-500)}`);
  } finally {
    redis?.disconnect();
    await node.stop();
    await stores.destroy();
  }
  const swept = node.log.split('\n').filter((line) => line.includes('retention_swept')).length;
  return {
    title: `retention of ${retentionMs / 1_000} s on ${store}, ${startsPerSecond} starts a second for ${forMs / 1_000} s`,
    seed,
    lines: [
      HEAD,
      ...samples.map(rowOf),
      `${load.started} runs started, ${load.failures} refused, ${load.deleted} deleted; log lines of sweeps at the end of the log: ${swept}`,
    ],
    broken,
  };
}

const configOf = ({ retentionMs }: RetentionSoakOptions, script: string): string => `apiVersion: svc.dev/v1
kind: NodeConfig
spec:
  llm_providers:
    - { name: script, type: scripted, script: ${script}, models: [{ alias: default, model: scripted }] }
  retention:
    interval_secs: ${Math.max(1, Math.round(retentionMs / 12_000))}
    runs: { retention_ms: ${retentionMs} }
    ledger: { retention_ms: ${retentionMs} }
    dead_letters: { retention_ms: ${retentionMs} }
`;

const HEAD = '    s |   runs | data MB | RSS MB | fds | Redis keys | Redis MB';
const mb = (bytes: number): string => (bytes / 1_048_576).toFixed(1);

function rowOf({ atMs, started, dataBytes, rssBytes, descriptors, redisKeys, redisBytes }: Sample): string {
  const cells: readonly (readonly [string, number])[] = [
    [String(Math.round(atMs / 1_000)), 5],
    [String(started), 6],
    [mb(dataBytes), 7],
    [mb(rssBytes), 6],
    [String(descriptors), 3],
    [String(redisKeys), 10],
    [mb(redisBytes), 8],
  ];
  return cells.map(([text, width]) => text.padStart(width)).join(' | ');
}

/** Compares the mean of the last third with that of the middle third; the first third fills the stores. */
function growthOf(samples: readonly Sample[]): string[] {
  const third = Math.floor(samples.length / 3);
  if (third === 0) return ['too few samples'];
  const fields = ['dataBytes', 'rssBytes', 'descriptors', 'redisKeys', 'redisBytes'] as const;
  return fields.flatMap((field) => {
    const mean = (some: readonly Sample[]): number => some.reduce((sum, one) => sum + one[field], 0) / some.length;
    const middle = mean(samples.slice(third, 2 * third));
    const last = mean(samples.slice(-third));
    if (last <= middle * (1 + MOST_GROWTH) || last - middle <= SLACK[field]) return [];
    return [`${field} grew from ${Math.round(middle)} in the middle third to ${Math.round(last)} in the last`];
  });
}

class Load {
  readonly #node: NodeProcess;
  readonly #runs: { readonly path: string; readonly atMs: number }[] = [];
  readonly #open = new Set<Promise<void>>();
  /** Ids of all runs that were started. */
  readonly ids: string[] = [];
  started = 0;
  deleted = 0;
  failures = 0;
  #agentId = '';

  constructor(node: NodeProcess) {
    this.#node = node;
  }

  async deploy(): Promise<void> {
    const type = { 'content-type': 'application/yaml' };
    await this.#call('POST', '/v1/workflows', { headers: type, body: WORKFLOW });
    const { agent_id } = await this.#call('POST', '/v1/agents', { headers: type, body: AGENT });
    this.#agentId = String(agent_id);
  }

  start(count: number): void {
    const started = this.#start(count)
      .catch(() => {
        this.failures += 1;
      })
      .finally(() => this.#open.delete(started));
    this.#open.add(started);
  }

  async #start(count: number): Promise<void> {
    this.started += 1;
    const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
    const text = count % LARGE_EACH === 0 ? 'x'.repeat(LARGE_CHARS) : `run ${count}`;
    const isAgent = count % 3 === 0 && count % LARGE_EACH !== 0;
    const body = isAgent ? { agent_id: this.#agentId, input: text } : { input: { text } };
    const path = isAgent ? '/v1/executions' : '/v1/workflows/soak/run';
    const { execution_id } = await this.#call('POST', path, { headers, body: JSON.stringify(body) });
    this.ids.push(String(execution_id));
    const run = `${isAgent ? '/v1/executions' : '/v1/workflows/executions'}/${String(execution_id)}`;
    if (!isAgent && count % 20 === 1) {
      await this.#call('DELETE', run, {});
      this.deleted += 1;
      return;
    }
    this.#runs.push({ path: run, atMs: performance.now() });
  }

  async settle(): Promise<void> {
    await Promise.all(this.#open);
  }

  /** The oldest runs are 404, and runs that ended a moment ago are there. */
  async checkRemoved(retentionMs: number): Promise<string[]> {
    const broken: string[] = [];
    const url = await this.#node.url;
    const statusOf = async (path: string): Promise<number> => {
      const answer = await fetch(`${url}${path}`);
      await answer.arrayBuffer();
      return answer.status;
    };
    const now = performance.now();
    // With a short retention they may be removed before they are read.
    const young = retentionMs < 60_000 ? [] : this.#runs.filter(({ atMs }) => now - atMs < retentionMs / 2).slice(-20);
    for (const { path } of young)
      if ((await statusOf(path)) !== 200) broken.push(`${path} was removed although it is younger than the retention`);
    const oldest = this.#runs.slice(0, 20);
    if (oldest.length === 0) broken.push('every started run was deleted, so the retention had nothing to remove');
    // On a slow machine the load may end before a run is old enough, so the wait for its removal counts from its start.
    for (const { path, atMs } of oldest) {
      const withinMs = Math.max(0, atMs + 2 * retentionMs + 8_000 - now) + 30_000;
      const isGone = waitUntil(`${path} to be removed`, async () => (await statusOf(path)) === 404, withinMs);
      await isGone.catch(() => broken.push(`${path} was kept although it is older than the retention`));
    }
    return broken;
  }

  async #call(method: string, path: string, init: RequestInit): Promise<Record<string, unknown>> {
    const answer = await fetch(`${await this.#node.url}${path}`, { ...init, method });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status} ${text}`);
    const parsed: unknown = text === '' ? {} : JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  }
}

async function sampleOf(
  node: NodeProcess,
  stores: KillStores,
  redis: Redis | null,
  started: number,
  atMs: number,
): Promise<Sample> {
  const status = await readFile(`/proc/${node.pid}/status`, 'utf8');
  const rssKb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  const memory = redis === null ? '' : await redis.info('memory');
  const directories = [stores.location.dataDir, ...stores.directories];
  const sizes = await Promise.all(directories.map(bytesIn));
  return {
    atMs,
    started,
    dataBytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    rssBytes: rssKb * 1_024,
    descriptors: (await readdir(`/proc/${node.pid}/fd`)).length,
    redisKeys: redis === null ? 0 : await redis.dbsize(),
    redisBytes: Number(/^used_memory:(\d+)/m.exec(memory)?.[1] ?? 0),
  };
}

/** Files and directories may appear and disappear during the walk. */
async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) bytes += await bytesIn(path);
    else if (entry.isFile())
      bytes += await stat(path).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return bytes;
}
