import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { addressOf } from '../../runtime/address.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { startRuntime } from '../../runtime/runtime.ts';
import { NodeProcess } from '../../test/support/node-process.ts';
import { WorkflowCalls } from '../../test/support/workflow-kill-calls.ts';
import { startWaiting, WAITING_WORKFLOW } from '../../test/support/workflow-kill-waiting.ts';
import { counter, KEYS, PAYLOAD } from '../counter.ts';
import { closedLoop } from '../load.ts';

/** Milliseconds of each call, sorted. */
export type Times = readonly number[];

export interface LiveLedger {
  readonly wholeTraceMs: number;
  readonly found: number;
  readonly message: Times;
  readonly why: Times;
  /** From the answer to a start until the trace of it can be read. */
  readonly fresh: Times;
}

const PROBE_EVERY_MS = 10;
/** A delivery that cannot be read within this time is lost. */
const LOST_MS = 30_000;

export const sorted = (times: readonly number[]): Times => [...times].sort((a, b) => a - b);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

/** Milliseconds until `look` returns true. */
async function untilSeen(look: () => Promise<boolean>): Promise<number> {
  const since = performance.now();
  while (!(await look())) {
    if (performance.now() - since > LOST_MS) throw new Error('a delivery cannot be read');
    await pause(PROBE_EVERY_MS);
  }
  return performance.now() - since;
}

/** Measures a node over REST on a directory with a large ledger. */
export async function overRest(
  directory: string,
  wish: {
    readonly trace: string;
    readonly messages: readonly string[];
    readonly waiting: number;
    readonly looks: number;
    readonly probes: number;
  },
): Promise<LiveLedger> {
  const node = new NodeProcess(['--data', directory]);
  node.spawn();
  const url = await node.url;
  const get = async (path: string, headers: Record<string, string> = {}): Promise<Response> => {
    const answer = await fetch(`${url}${path}`, { headers });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  try {
    const calls = new WorkflowCalls(node, new AbortController().signal);
    await calls.deploy(WAITING_WORKFLOW);
    const waiting = await startWaiting(calls, wish.waiting);
    let found = 0;
    const wholeTraceMs = await timed(async () => {
      const text = await (await get(`/v1/traces/${wish.trace}`, { accept: 'application/x-ndjson' })).text();
      found = text.split('"message_id"').length - 1;
    });
    const message: number[] = [];
    const why: number[] = [];
    for (let look = 0; look < wish.looks; look += 1) {
      const id = wish.messages[(look * 7_919) % wish.messages.length];
      message.push(await timed(async () => (await get(`/v1/messages/${id}`)).text()));
      const run = waiting[look % waiting.length]?.id;
      why.push(await timed(async () => (await get(`/v1/workflows/executions/${run}/why`)).text()));
    }
    const fresh: number[] = [];
    for (let probe = 0; probe < wish.probes; probe += 1) fresh.push(await freshOverRest(url));
    return { wholeTraceMs, found, message: sorted(message), why: sorted(why), fresh: sorted(fresh) };
  } finally {
    await node.stop();
  }
}

/** Starts a run as the root of a trace that the caller names, and waits until the trace can be read. */
async function freshOverRest(url: string): Promise<number> {
  const trace = randomBytes(16).toString('hex');
  const traceparent = `00-${trace}-${randomBytes(8).toString('hex')}-01`;
  const started = await fetch(`${url}/v1/workflows/waits-for-a-human/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent },
    body: JSON.stringify({ input: { who: 'a probe' } }),
  });
  if (!started.ok) throw new Error(`a start: ${started.status} ${await started.text()}`);
  await started.text();
  return untilSeen(async () => {
    const answer = await fetch(`${url}/v1/traces/${trace}`);
    await answer.text();
    return answer.ok;
  });
}

/** From the answer of an ask until its delivery can be read, while asks keep the node busy. */
export async function freshUnderAsks(
  directory: string,
  wish: { readonly tenant: string; readonly inFlight: number; readonly probes: number; readonly runMs: number },
): Promise<{ readonly fresh: Times; readonly perSecond: number }> {
  const warn = (message: string, error: unknown): void => console.error(message, error);
  const ports = await openStores({ dataDir: directory, warn });
  const runtime = await startRuntime({
    ...ports,
    definitions: [counter],
    handlers: [],
    node: 'bench-live',
    settings: {},
    warn,
  });
  const { client, ledger } = runtime;
  if (ledger === null) throw new Error('the node keeps no ledger');
  const ask = (key: number, trace?: string): Promise<unknown> =>
    client.ask(addressOf('counter', wish.tenant, `${key % KEYS}`), 'Add', { payload: PAYLOAD }, { trace });
  const fresh: number[] = [];
  const probing = async (): Promise<void> => {
    for (let probe = 0; probe < wish.probes; probe += 1) {
      const trace = randomBytes(16).toString('hex');
      await ask(probe, trace);
      fresh.push(
        await untilSeen(async () => (await ledger.trace(wish.tenant, trace, { limit: 1 })).deliveries.length > 0),
      );
    }
  };
  const plan = { inFlight: wish.inFlight, warmUpMs: 500, runMs: wish.runMs };
  const [{ perSecond }] = await Promise.all([
    closedLoop(plan, async (index) => void (await ask(index * 7_919))),
    Promise.all(Array.from({ length: 4 }, probing)),
  ]);
  await runtime.stop();
  await ports.close();
  return { fresh: sorted(fresh), perSecond };
}
