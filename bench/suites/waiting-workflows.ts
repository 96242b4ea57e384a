import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { stringify } from 'yaml';
import { startMongo } from '../../test/support/ferretdb.ts';
import { startRedis } from '../../test/support/redis.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { WorkflowCalls } from '../../test/support/workflow-kill-calls.ts';
import { endsOf, startWaiting, WAITING_WORKFLOW, type Waiting } from '../../test/support/workflow-kill-waiting.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { type RoleProcess, startRole } from '../role.ts';
import type { WaitingNodeAnswer } from '../roles/waiting-node.ts';

const CONFIG = {
  apiVersion: 'svc.dev/v1',
  kind: 'NodeConfig',
  spec: { kernel: { passivate_after_ms: 500 }, observability: { logging: { level: 'warn' } } },
};
const SETTLE_MS = 300_000;
const LOOKS = 5;

type Node = RoleProcess<object, WaitingNodeAnswer>;

/** Stores and the node processes on them. */
interface Installation extends AsyncDisposable {
  readonly name: string;
  readonly nodes: readonly Node[];
  readonly calls: readonly WorkflowCalls[];
  readonly urls: readonly string[];
  /** One round trip to the store; null when it is in the process. */
  readonly ping: (() => Promise<unknown>) | null;
}

interface Figures {
  readonly heaps: readonly { readonly waiting: number; readonly megabytes: readonly number[] }[];
  readonly wakeMs: readonly number[];
  /** Measured beside it: one call over REST that uses no store, and a round trip to a store in another process. */
  readonly callMs: readonly number[];
  readonly pingMs: readonly number[];
  readonly atOnce: { readonly answers: number; readonly answeredMs: number; readonly endedMs: number };
}

/** Heap of workflows that wait for a human, how soon one goes on, and many that are answered at once. */
export async function waitingWorkflows(plan: Plan): Promise<Section> {
  const isWhole = plan.repetitions > 1;
  const sizes = isWhole ? { waiting: 10_000, woken: 300, atOnce: 1_000 } : { waiting: 1_000, woken: 50, atOnce: 200 };
  const rows: string[][] = [];
  const heaps: string[][] = [];
  for (const open of [embedded, onRedis]) {
    await using installation = await open();
    const { heaps: seen, wakeMs, callMs, pingMs, atOnce } = await measure(installation, sizes);
    for (const { waiting, megabytes } of seen)
      heaps.push([installation.name, whole(waiting), megabytes.map((mb) => mb.toFixed(1)).join(', ')]);
    const times = [wakeMs, callMs, pingMs].map((all) =>
      all.length === 0 ? 'in the process' : `${part(all, 0.5).toFixed(1)}, ${part(all, 0.99).toFixed(1)}`,
    );
    const ends = `${whole(atOnce.answers)}: answered in ${whole(atOnce.answeredMs)} ms, ended in ${whole(atOnce.endedMs)} ms`;
    rows.push([installation.name, ...times, ends]);
  }
  return {
    title: `Workflows that wait for a human (${whole(sizes.waiting)})`,
    text: [
      table(['store', 'waiting', 'heap of each node process, MB'], heaps),
      '',
      table(['store', 'wake p50, p99 ms', 'bare call p50, p99 ms', 'store p50, p99 ms', 'answered at once'], rows),
      '',
      'Heap: the least of five looks, each after a forced collection, when no actor is in memory; the first line of each',
      'store is its baseline. Wake: from the approval over REST to the completion read from the event stream, one at a time,',
      'none in memory before; bare call and store (PING) are round trips at the same moments, the share of the machine in it.',
      'At once: from the first request to the last answer, and to the end that the last run was given.',
    ].join('\n'),
  };
}

async function measure(
  { nodes, calls, urls, ping }: Installation,
  sizes: { readonly waiting: number; readonly woken: number; readonly atOnce: number },
): Promise<Figures> {
  const [first] = calls;
  if (first === undefined) throw new Error('no node');
  await first.deploy(WAITING_WORKFLOW);
  const runs: Waiting[] = [];
  const heaps: { waiting: number; megabytes: readonly number[] }[] = [];
  // The first runs load code and fill caches.
  for (const upTo of [sizes.waiting / 10, sizes.waiting / 2, sizes.waiting]) {
    const each = Math.ceil((upTo - runs.length) / calls.length);
    runs.push(...(await Promise.all(calls.map((call) => startWaiting(call, each)))).flat());
    await settled(calls);
    const megabytes: number[] = [];
    for (const node of nodes) megabytes.push(await leastHeap(node));
    heaps.push({ waiting: runs.length, megabytes });
  }
  const [wakeMs, callMs, pingMs]: [number[], number[], number[]] = [[], [], []];
  for (let index = 0; index < sizes.woken; index += 1) {
    const run = runs.pop();
    const url = urls[index % urls.length];
    if (run === undefined || url === undefined) throw new Error('too few runs');
    if (ping !== null) pingMs.push(await timed(ping));
    callMs.push(await timed(async () => (await fetch(`${url}/health`)).text()));
    wakeMs.push(await wake(url, first, run));
  }
  const atOnce = await answerAll(first, runs.splice(0, sizes.atOnce));
  return { heaps, wakeMs, callMs, pingMs, atOnce };
}

/** Buffers of ended work are freed with a delay, so the least of several readings counts. */
async function leastHeap(node: Node): Promise<number> {
  const looks: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    looks.push((await node.ask({})).heapUsed / 1024 ** 2);
    await pause(1_000);
  }
  return Math.min(...looks);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

async function settled(calls: readonly WorkflowCalls[]): Promise<void> {
  const residents = () => Promise.all(calls.map((call) => call.residents()));
  await waitUntil(
    'what waits to leave memory',
    async () => (await residents()).every((count) => count === 0),
    SETTLE_MS,
  );
}

/** From the request that approves to the event that the run has completed. */
async function wake(url: string, calls: WorkflowCalls, { id, approvalId }: Waiting): Promise<number> {
  const end = new AbortController();
  const headers = { accept: 'text/event-stream' };
  const stream = await fetch(`${url}/v1/workflows/executions/${id}/stream`, { headers, signal: end.signal });
  if (stream.body === null) throw new Error('the stream has no body');
  let text = '';
  let since = 0;
  let answered: Promise<void> | null = null;
  for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (answered === null && text.includes('WorkflowHumanInputRequested')) {
      // The stream is open: now the human answers.
      since = performance.now();
      answered = calls.answer(approvalId, { approve: 'go on' });
    }
    if (text.includes('WorkflowExecutionCompleted')) break;
  }
  const tookMs = performance.now() - since;
  await answered;
  end.abort();
  return tookMs;
}

async function answerAll(calls: WorkflowCalls, runs: readonly Waiting[]): Promise<Figures['atOnce']> {
  const since = Date.now();
  await Promise.all(runs.map(({ approvalId }) => calls.answer(approvalId, { approve: 'all of you' })));
  const answeredMs = Date.now() - since;
  const ends = await endsOf(calls, runs);
  const wrong = ends.filter(({ status }) => status !== 'completed');
  if (wrong.length > 0) throw new Error(`${wrong.length} runs did not complete`);
  const endedMs = Math.max(...ends.map(({ ended_at }) => Date.parse(ended_at ?? ''))) - since;
  return { answers: runs.length, answeredMs, endedMs };
}

const part = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
};

const embedded = (): Promise<Installation> => install('embedded', 1, async () => ({ flags: {}, ping: null }));

/** Two node processes share Redis and a MongoDB-wire server. */
const onRedis = (): Promise<Installation> =>
  install('Redis, appendfsync always', 2, async (opened) => {
    const redis = await startRedis({ appendfsync: 'always' });
    opened.defer(() => redis.stop());
    const mongo = await startMongo();
    opened.defer(() => mongo.stop());
    const client = new Redis(redis.url);
    opened.defer(() => client.disconnect());
    return { flags: { redis: redis.url, mongodb: mongo.uri }, ping: () => client.ping() };
  });

async function install(
  name: string,
  count: number,
  stores: (opened: AsyncDisposableStack) => Promise<{
    readonly flags: Readonly<Record<string, string>>;
    readonly ping: (() => Promise<unknown>) | null;
  }>,
): Promise<Installation> {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const config = join(directory, 'svc.yaml');
  await writeFile(config, stringify(CONFIG));
  const { flags, ping } = await stores(opened);
  const nodes: Node[] = [];
  for (let at = 0; at < count; at += 1) {
    const own = { data: join(directory, `node-${at}`), config, 'http-port': '0', 'grpc-port': '0' };
    const node: Node = await startRole('waiting-node', { flags: { ...flags, ...own } });
    opened.defer(() => node.stop());
    nodes.push(node);
  }
  const urls: string[] = [];
  for (const node of nodes) urls.push((await node.ask({})).url);
  const never = new AbortController();
  const calls = urls.map((url) => new WorkflowCalls({ url: Promise.resolve(url) }, never.signal));
  const kept = opened.move();
  return { name, nodes, calls, urls, ping, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
