import { stringify } from 'yaml';
import { LIVENESS_MS } from '../../support/liveness.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { CrowdedNode, freshKey, keyIn } from './crowded-node.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { repeatsIn, timeLeftMs } from './quiet.ts';

const CLIENTS = 2_000;
const LASTS_MS = 5_000;
/**
 * One of this many clients starts agents, whose model server counts which runs called it and how often; the others
 * start workflows.
 */
const WITNESSED_EVERY = 50;
/** Time until the node refuses starts; it takes longer on a busy machine. */
const REFUSES_WITHIN_MS = 30_000;

/** Part of the input of the run that continues through the overload. */
const LONG = 'long';

const WORKFLOW = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Workflow',
  metadata: { name: 'pure', version: '1.0.0', description: 'for a fault' },
  spec: { initial_state: 'DONE', states: { DONE: { kind: 'System', command: 'finalize', transitions: [] } } },
});

export const overload: FaultCase = {
  name: 'overload',
  title:
    '2,000 clients in a closed loop: work over the limit is refused, no connection is reset, and accepted runs continue',
  stores: ['sqlite', 'redis'],
  open: (store) => openOverload(store, CLIENTS, LASTS_MS),
};

/** `limits` of the node: lower ones for tests with fewer clients. */
export async function openOverload(
  store: FaultCase['stores'][number],
  clients: number,
  lastsMs: number,
  limits: Readonly<Record<string, number>> = {},
): Promise<FaultStores> {
  const node = await CrowdedNode.start(store, { limits });
  node.models.answer(({ body }) =>
    JSON.stringify(body).includes(LONG)
      ? { chunks: Array.from({ length: 8 }, () => 'word '), delayMs: lastsMs / 10 }
      : { chunks: ['ok'] },
  );
  const agent = await node.agent('works', 'one');
  const { status } = await node.call('POST', '/v1/workflows?force=true', WORKFLOW);
  if (status !== 200) throw new Error(`deploy: ${status}`);
  return { round: () => round(node, agent, clients, lastsMs), close: () => node.close() };
}

interface Witnessed {
  readonly id: string;
  /** Part of its input. */
  readonly key: string;
}

/** Answers to the clients of one round. */
class Crowd {
  readonly #node: CrowdedNode;
  readonly #agent: string;
  readonly took: number[] = [];
  readonly started: string[] = [];
  readonly witnessed: Witnessed[] = [];
  /** Keys of the starts whose answer did not come. */
  readonly unknown: string[] = [];
  refused = 0;
  resets = 0;
  /** Number of unexpected answers by status: neither accepted nor refused. */
  readonly others = new Map<number, number>();

  constructor(node: CrowdedNode, agent: string) {
    this.#node = node;
    this.#agent = agent;
  }

  /** One client in a closed loop. */
  async client(n: number, goesOn: () => boolean): Promise<void> {
    while (goesOn()) await this.#start(n % WITNESSED_EVERY === 0 ? freshKey() : null);
  }

  /** Starts an agent with a key, else a workflow. */
  async #start(key: string | null): Promise<void> {
    const at = performance.now();
    const [path, input] =
      key === null
        ? ['/v1/workflows/pure/run', { input: {} }]
        : ['/v1/executions', { agent_id: this.#agent, input: key }];
    try {
      const { status, body } = await this.#node.call('POST', path, input);
      if (status === 200) {
        this.took.push(performance.now() - at);
        if (key === null) this.started.push(String(body.execution_id));
        else this.witnessed.push({ id: String(body.execution_id), key });
      } else if (status === 503 && body.error === 'overloaded') {
        this.refused += 1;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      } else this.others.set(status, (this.others.get(status) ?? 0) + 1);
    } catch {
      this.resets += 1;
      if (key !== null) this.unknown.push(key);
    }
  }
}

async function round(node: CrowdedNode, agent: string, clients: number, lastsMs: number): Promise<RoundOutcome> {
  const listedBefore = await listed(node);
  const askedBefore = node.models.calls.length;
  const key = freshKey();
  const running = await node.start(agent, `${LONG} ${key}`);
  const crowd = new Crowd(node, agent);
  const begun = performance.now();
  const goesOn = (): boolean => {
    const lasts = performance.now() - begun;
    return lasts < lastsMs || (crowd.refused === 0 && lasts < REFUSES_WITHIN_MS);
  };
  await Promise.all(Array.from({ length: clients }, (_, n) => crowd.client(n, goesOn)));
  const overAt = performance.now();
  const { started, took, others, resets } = crowd;
  const witnessed = running === null ? crowd.witnessed : [...crowd.witnessed, { id: running, key }];
  const isOver = async (path: string): Promise<boolean> =>
    !['running', 'pending'].includes(String((await node.call('GET', path)).body.status));
  const paths = [
    ...witnessed.map(({ id }) => `/v1/executions/${id}`),
    ...started.slice(-100).map((id) => `/v1/workflows/executions/${id}`),
  ];
  const ends = await Promise.all(
    paths.map((path) => waitUntil('a run', () => isOver(path), timeLeftMs(overAt)).catch(() => false)),
  );
  // The actor store must have no record of any of them, so runs that are not read have ended as well.
  const ids = [...started, ...witnessed.map(({ id }) => id)];
  const broken = await node.stillUnderWay(overAt, ids);
  const recoveryMs = performance.now() - overAt;
  // Starts whose answer did not come may have been accepted.
  const more = (await listed(node)) - listedBefore - started.length;
  const asked = node.models.calls.slice(askedBefore).map(keyIn);
  const taken = new Set([...witnessed.map((one) => one.key), ...crowd.unknown]);
  const unasked = witnessed.filter((one) => !asked.includes(one.key)).length;
  const ranRefused = asked.filter((one) => !taken.has(one)).length;
  took.sort((a, b) => a - b);
  const said = [...others].map(([status, count]) => `, ${count} of status ${status}`).join('');
  const p99 = Math.round(took[Math.floor(took.length * 0.99)] ?? 0);
  return {
    runs: ids.length,
    hung: ends.filter((end) => !end).length + broken.length,
    nodesEnded: node.process.crashed ? 1 : 0,
    lost: resets + [...others.values()].reduce((sum, count) => sum + count, 0) + Math.max(0, -more) + unasked,
    repeated: repeatsIn(asked) + ranRefused + Math.max(0, more - resets),
    recoveryMs,
    notes: [
      `${took.length} accepted with p99 ${p99} ms, ${crowd.refused} refused, ${resets} connections broken${said}`,
      `the model was called ${asked.length} times for ${witnessed.length} runs; ${more} more workflows are listed than were accepted`,
      ...broken,
    ],
  };
}

/** Number of workflow runs, from their list. */
function listed(node: CrowdedNode): Promise<number> {
  return waitUntil(
    'the list of runs answers',
    async () => {
      const { status, body } = await node.call('GET', '/v1/workflows/executions?limit=1');
      return status === 200 && Number(body.total);
    },
    LIVENESS_MS,
  );
}
