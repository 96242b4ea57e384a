import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { startMongo } from '../../test/support/ferretdb.ts';
import { startRedis } from '../../test/support/redis.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { type RoleProcess, startRole } from '../role.ts';
import type { WaitingNodeAnswer } from '../roles/waiting-node.ts';

type Node = RoleProcess<object, WaitingNodeAnswer>;
type Result = Readonly<Record<string, unknown>>;

const SLEEPY = { rules: [{ reply: { text: 'at last', delay_ms: 600_000 } }] };
const AGENT = stringify({
  ...{ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata: { name: 'sleepy', version: '1.0.0' } },
  spec: { task: { prompt_template: '{{input}}' }, execution: { iteration_timeout: '900s', llm_timeout_seconds: 900 } },
});
const LOOK_MS = 10_000;
/** Enough calls that the p99 is not a single one. */
const OTHER_CALLS = 1_000;
const CALM_CPU = 0.5;
const TICKS_A_SECOND = 100;

interface Figures {
  readonly waiters: number;
  readonly askedMs: number;
  readonly memoryMb: readonly [before: number, waiting: number];
  readonly heapMb: readonly [before: number, waiting: number];
  readonly cpu: readonly [before: number, waiting: number];
  readonly otherMs: readonly number[];
  readonly endedMs: number;
  readonly wrong: number;
}

/** Many callers that wait for a few executions on one node: their cost, and the latency of other calls. */
export async function waiters(plan: Plan): Promise<Section> {
  const isWhole = plan.repetitions > 1;
  const sizes = isWhole ? { waiters: 10_000, executions: 100 } : { waiters: 500, executions: 10 };
  const rows: string[][] = [];
  for (const [name, open] of STORES) {
    await using opened = new AsyncDisposableStack();
    const figures = await measure(opened, await open(opened), sizes);
    const { askedMs, memoryMb, heapMb, cpu, otherMs, endedMs, wrong } = figures;
    if (wrong > 0) throw new Error(`${wrong} of ${figures.waiters} were not told of the end`);
    rows.push([
      ...[name, whole(figures.waiters), whole(askedMs), memoryMb.map(whole).join(' to ')],
      heapMb.map(whole).join(' to '),
      cpu.map((share) => `${(share * 100).toFixed(1)} %`).join(' to '),
      ...[`${part(otherMs, 0.5).toFixed(1)}, ${part(otherMs, 0.99).toFixed(1)}`, whole(endedMs)],
    ]);
  }
  return {
    title: `Callers that wait (${whole(sizes.waiters)} for ${sizes.executions} executions)`,
    text: [
      table(
        [
          'store',
          'waiters',
          'until all wait, ms',
          'memory, MB',
          'heap, MB',
          'CPU of a core',
          'other call p50, p99 ms',
          'all told, ms',
        ],
        rows,
      ),
      '',
      'Each waiter is a call of svc.task.wait over /mcp on a connection of its own. Memory (RSS), heap (after a collection) and CPU',
      `of the node process: before the first waiter, and while all wait, ${LOOK_MS / 1_000} s each; the executions run all the while.`,
      `Other call: svc.agent.list over /mcp meanwhile, ${whole(OTHER_CALLS)} one after the other. All told: from the first cancel to the last answer.`,
    ].join('\n'),
  };
}

const part = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

/** Followers of many event streams on one node: their cost, and the latency of other calls. */
export async function followers(plan: Plan): Promise<Section> {
  const sizes = plan.repetitions > 1 ? { followers: 10_000, executions: 1_000 } : { followers: 500, executions: 50 };
  const rows: string[][] = [];
  for (const [name, open] of STORES) {
    await using opened = new AsyncDisposableStack();
    const { openedMs, memoryMb: memory, cpu, otherMs, endedMs } = await follow(opened, await open(opened), sizes);
    const each = ((memory[1] - memory[0]) * 1_024) / sizes.followers;
    rows.push([
      ...[name, whole(sizes.followers), whole(openedMs), memory.map(whole).join(' to '), each.toFixed(0)],
      cpu.map((share) => `${(share * 100).toFixed(1)} %`).join(' to '),
      ...[`${part(otherMs, 0.5).toFixed(1)}, ${part(otherMs, 0.99).toFixed(1)}`, whole(endedMs)],
    ]);
  }
  const head = ['store', 'followers', 'until all follow, ms', 'memory, MB', 'KB each', 'CPU of a core'];
  return {
    title: `Followers of event streams (${whole(sizes.followers)} of ${whole(sizes.executions)} executions)`,
    text: [
      table([...head, 'other call p50, p99 ms', 'all told, ms'], rows),
      'Each is GET /v1/executions/{id}/stream on a connection of its own, and has had its first event. The rest as above.',
    ].join('\n\n'),
  };
}

async function follow(
  opened: AsyncDisposableStack,
  flags: Flags,
  sizes: { readonly followers: number; readonly executions: number },
) {
  const { node, url, agent, call, executions } = await installSleepers(opened, flags, sizes.executions);
  const cpuBefore = await calmCpu(node.pid);
  const memoryBefore = await memoryMb(node.pid);
  const since = performance.now();
  const streams: Following[] = [];
  for (let at = 0; at < sizes.followers; at += 1) {
    const followed = followStream(`${url}/v1/executions/${String(executions[at % executions.length])}/stream`, agent);
    streams.push(followed);
    // As fast as the node takes them.
    if (at % 100 === 99) await followed.begun;
  }
  await Promise.all(streams.map(({ begun }) => begun));
  const openedMs = performance.now() - since;
  const cpuOpen = await calmCpu(node.pid);
  const memoryOpen = await memoryMb(node.pid);
  const otherMs: number[] = [];
  for (let at = 0; at < OTHER_CALLS; at += 1) otherMs.push(await timed(() => call('svc.agent.list', {})));
  const from = performance.now();
  for (const execution_id of executions) await call('svc.task.cancel', { execution_id });
  await Promise.all(streams.map(({ ended }) => ended));
  const memory = [memoryBefore, memoryOpen] as const;
  return { openedMs, memoryMb: memory, cpu: [cpuBefore, cpuOpen], otherMs, endedMs: performance.now() - from };
}

interface Following {
  /** It has received an event. */
  readonly begun: Promise<void>;
  readonly ended: Promise<void>;
}

function followStream(url: string, agent: Agent): Following {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const fail = (error: Error): void => {
    begun.reject(error);
    ended.reject(error);
  };
  ended.promise.catch(() => {});
  const call = request(url, { agent, headers: { accept: 'text/event-stream' } }, (response) => {
    if (response.statusCode !== 200) return fail(new Error(`a stream was answered ${response.statusCode}`));
    response.on('data', () => begun.resolve());
    response.on('end', () => ended.resolve());
    response.on('error', fail);
  });
  call.on('error', fail);
  call.end();
  return { begun: begun.promise, ended: ended.promise };
}

type Flags = Readonly<Record<string, string>>;

const STORES: readonly (readonly [string, (opened: AsyncDisposableStack) => Promise<Flags>])[] = [
  ['embedded', async () => ({})],
  [
    'Redis, appendfsync always',
    async (opened) => {
      const redis = await startRedis({ appendfsync: 'always' });
      opened.defer(() => redis.stop());
      const mongo = await startMongo();
      opened.defer(() => mongo.stop());
      return { redis: redis.url, mongodb: mongo.uri };
    },
  ],
];

async function measure(
  opened: AsyncDisposableStack,
  flags: Flags,
  sizes: { readonly waiters: number; readonly executions: number },
): Promise<Figures> {
  const { node, call, executions } = await installSleepers(opened, flags, sizes.executions);
  const cpuBefore = await calmCpu(node.pid);
  const memoryBefore = await memoryMb(node.pid);
  const heapBefore = await heapMb(node);
  const since = performance.now();
  const waiting: Promise<Result>[] = [];
  for (let at = 0; at < sizes.waiters; at += 1) {
    const execution_id = executions[at % executions.length];
    waiting.push(call('svc.task.wait', { execution_id, timeout_seconds: 600 }));
    // As fast as the node takes them.
    if (at % 100 === 99) await call('svc.agent.list', {});
  }
  const askedMs = performance.now() - since;
  const cpuWaiting = await calmCpu(node.pid);
  const memoryWaiting = await memoryMb(node.pid);
  const otherMs: number[] = [];
  for (let at = 0; at < OTHER_CALLS; at += 1) otherMs.push(await timed(() => call('svc.agent.list', {})));
  // After the calls: it collects garbage, which the calls would wait for.
  const heapWaiting = await heapMb(node);
  const from = performance.now();
  for (const execution_id of executions) await call('svc.task.cancel', { execution_id });
  const answers = await Promise.all(waiting);
  return {
    ...{ waiters: waiting.length, askedMs, otherMs, endedMs: performance.now() - from },
    memoryMb: [memoryBefore, memoryWaiting],
    heapMb: [heapBefore, heapWaiting],
    cpu: [cpuBefore, cpuWaiting],
    wrong: answers.filter(({ status }) => status !== 'cancelled').length,
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

/** A node with this many executions that sleep, and a client of its tools. */
async function installSleepers(opened: AsyncDisposableStack, flags: Flags, count: number) {
  const { node, url } = await install(opened, flags);
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  opened.defer(async () => agent.destroy());
  const call = (tool: string, args: object): Promise<Result> => callTool(url, agent, tool, args);
  const { agent_id } = await call('svc.agent.create', { manifest_yaml: AGENT });
  const executions: unknown[] = [];
  for (let at = 0; at < count; at += 1) {
    executions.push((await call('svc.task.execute', { agent_id, intent: 'sleep' })).execution_id);
  }
  return { node, url, agent, call, executions };
}

async function install(opened: AsyncDisposableStack, flags: Flags): Promise<{ node: Node; url: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const script = join(directory, 'script.yaml');
  await writeFile(script, stringify(SLEEPY));
  const provider = { name: 'script', type: 'scripted', script, models: [{ alias: 'default', model: 'script' }] };
  // The executions occupy slots while their model thinks.
  const patient = { llm_selection: { llm_overall_timeout_secs: 3_600 } };
  const spec = { kernel: { effect_concurrency: 256 }, llm_providers: [provider], ...patient };
  const config = join(directory, 'svc.yaml');
  const observability = { logging: { level: 'warn' } };
  await writeFile(
    config,
    stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec: { ...spec, observability } }),
  );
  const own = { data: join(directory, 'node'), config, 'http-port': '0', 'grpc-port': '0' };
  const node: Node = await startRole('waiting-node', {
    flags: { ...flags, ...own, 'internal-port': '0', 'internal-grpc-port': '0' },
  });
  opened.defer(() => node.stop());
  return { node, url: (await node.ask({})).url };
}

/** One `tools/call`; answers the structured result. */
function callTool(url: string, agent: Agent, name: string, args: object): Promise<Result> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return new Promise((resolve, reject) => {
    const call = request(`${url}/mcp`, { method: 'POST', agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { result } = JSON.parse(Buffer.concat(chunks).toString());
        if (result?.isError === false) resolve(result.structuredContent);
        else reject(new Error(`${name}: ${Buffer.concat(chunks).toString().slice(0, 500)}`));
      });
    });
    call.on('error', reject);
    call.end(JSON.stringify(message));
  });
}

/** Share of a core over a time, after the requested work has ended. */
async function calmCpu(pid: number): Promise<number> {
  for (let look = 0; look < 60 && (await cpuOver(pid, 1_000)) > CALM_CPU; look += 1);
  return cpuOver(pid, LOOK_MS);
}

async function cpuOver(pid: number, timeMs: number): Promise<number> {
  const [before, since] = [await cpuSeconds(pid), performance.now()];
  await pause(timeMs);
  return ((await cpuSeconds(pid)) - before) / ((performance.now() - since) / 1_000);
}

async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

const heapMb = async (node: Node): Promise<number> => (await node.ask({})).heapUsed / 1024 ** 2;

async function memoryMb(pid: number): Promise<number> {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}
