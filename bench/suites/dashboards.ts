import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../../clients/typescript/client.ts';
import { agentYaml, ProductNode } from '../../test/product/product-node.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

type Client = ReturnType<typeof createClient>;

const TICKS_A_SECOND = 100;
/** As in the pages: all changes within this time cause one read of each list. */
const GATHER_MS = 700;
const REFRESH_MS = 15_000;

/** The cost of open dashboards for a node, idle and under load. */
export async function dashboards(plan: Plan): Promise<Section> {
  const isWhole = plan.repetitions > 1;
  const counts = isWhole ? [0, 50, 200] : [0, 20];
  const lookMs = isWhole ? 20_000 : 3_000;
  await using node = await ProductNode.start();
  const baseUrl = node.url;
  const { pid } = node.process;
  const client = createClient({ baseUrl });
  const agent = await node.deploy(agentYaml('writer'));
  const rows: string[][] = [];
  for (const count of counts) {
    const stop = new AbortController();
    const reads = { count: 0 };
    const open = Array.from({ length: count }, () => dashboard(createClient({ baseUrl }), reads, stop.signal));
    await pause(lookMs / 4);
    const idle = await cost(pid, lookMs);
    reads.count = 0;
    const starts = startRuns(client, agent, lookMs);
    const busy = await cost(pid, lookMs);
    const { begun, slowest } = await starts;
    rows.push([
      ...[whole(count), percent(idle.cpu), percent(busy.cpu), whole(busy.memoryMb)],
      ...[whole((reads.count * 1_000) / lookMs), whole(begun), slowest.toFixed(0)],
    ]);
    stop.abort();
    await Promise.all(open);
  }
  const head = [
    'open dashboards',
    'CPU of a core, idle',
    'CPU, 5 runs/s',
    'memory, MB',
    'reads/s',
    'runs started',
    'slowest start, ms',
  ];
  return {
    title: 'Open dashboards on one node (SQLite)',
    text: [
      table(head, rows),
      '',
      'Each follows the feed of runs, approvals and nodes, reads the newest 200 runs again after changes (those of 0.7 s are one',
      `read) and every 15 s, as the page of runs does. Each figure is over ${lookMs / 1_000} s.`,
    ].join('\n'),
  };
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** Makes the calls of one open page of runs until the signal. */
async function dashboard(client: Client, reads: { count: number }, signal: AbortSignal): Promise<void> {
  let isDue = true;
  const readOn = async (): Promise<void> => {
    for (let waitedMs = 0; !signal.aborted; waitedMs += GATHER_MS) {
      if (isDue || waitedMs >= REFRESH_MS) {
        isDue = false;
        waitedMs = 0;
        reads.count += 1;
        await client.runs.list({ limit: 200 }, { signal });
      }
      await pause(GATHER_MS, undefined, { signal });
    }
  };
  const follow = async (): Promise<void> => {
    for await (const { event } of client.feed.stream({ topic: ['run', 'approval', 'node'] }, { signal }))
      if (!('open' in event)) isDue = true;
  };
  const ended = await Promise.allSettled([readOn(), follow()]);
  for (const one of ended) if (one.status === 'rejected' && !signal.aborted) throw one.reason;
}

/** Starts five runs a second. */
async function startRuns(client: Client, id: string, ms: number) {
  let [begun, slowest] = [0, 0];
  for (const endAt = performance.now() + ms; performance.now() < endAt; ) {
    const startedAt = performance.now();
    await client.agents.execute({ id, input: {}, intent: 'write' });
    begun += 1;
    slowest = Math.max(slowest, performance.now() - startedAt);
    await pause(Math.max(0, 200 - (performance.now() - startedAt)));
  }
  return { begun, slowest };
}

/** Share of a core that a process uses over a time, and its memory at the end. */
async function cost(pid: number, ms: number): Promise<{ readonly cpu: number; readonly memoryMb: number }> {
  const before = await ticksOf(pid);
  await pause(ms);
  const ticks = (await ticksOf(pid)) - before;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const memoryMb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
  return { cpu: ticks / TICKS_A_SECOND / (ms / 1_000), memoryMb };
}

async function ticksOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
