import { stringify } from 'yaml';
import { waitUntil } from '../../support/wait-until.ts';
import { CrowdedNode } from './crowded-node.ts';
import type { FaultCase, FaultWorld, RoundOutcome } from './fault-case.ts';

const CLIENTS = 2_000;
const LASTS_MS = 5_000;
const ENDS_WITHIN_MS = 60_000;
/** On a busy machine it takes longer until more starts are under way than a node takes. */
const REFUSES_WITHIN_MS = 30_000;

const WORKFLOW = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Workflow',
  metadata: { name: 'pure', version: '1.0.0', description: 'for a fault' },
  spec: { initial_state: 'DONE', states: { DONE: { kind: 'System', command: 'finalize', transitions: [] } } },
});

export const overload: FaultCase = {
  name: 'overload',
  title:
    '2,000 clients in a closed loop: new work beyond what is taken is refused, no connection is reset, what runs goes on',
  stores: ['sqlite', 'redis'],
  open: (store) => openOverload(store, CLIENTS, LASTS_MS),
};

/** `limits`: of the node, where fewer clients shall be too many. */
export async function openOverload(
  store: FaultCase['stores'][number],
  clients: number,
  lastsMs: number,
  limits: Readonly<Record<string, number>> = {},
): Promise<FaultWorld> {
  const node = await CrowdedNode.start(store, { limits });
  node.models.answer(() => ({ chunks: Array.from({ length: 8 }, () => 'word '), delayMs: lastsMs / 10 }));
  const agent = await node.agent('works', 'one');
  const { status } = await node.call('POST', '/v1/workflows?force=true', WORKFLOW);
  if (status !== 200) throw new Error(`deploy: ${status}`);
  return { round: () => round(node, agent, clients, lastsMs), close: () => node.close() };
}

async function round(node: CrowdedNode, agent: string, clients: number, lastsMs: number): Promise<RoundOutcome> {
  // Runs on through the overload.
  const running = await node.start(agent);
  const took: number[] = [];
  const started: string[] = [];
  let refused = 0;
  let resets = 0;
  /** Of answers that are neither taken nor refused. */
  const others = new Map<number, number>();
  const begun = performance.now();
  const goesOn = (): boolean => {
    const lasts = performance.now() - begun;
    return lasts < lastsMs || (refused === 0 && lasts < REFUSES_WITHIN_MS);
  };
  const client = async (): Promise<void> => {
    while (goesOn()) {
      const at = performance.now();
      try {
        const { status, body } = await node.call('POST', '/v1/workflows/pure/run', { input: {} });
        if (status === 200) {
          took.push(performance.now() - at);
          started.push(String(body.execution_id));
        } else if (status === 503 && body.error === 'overloaded') {
          refused += 1;
          await new Promise((resolve) => setTimeout(resolve, 1_000));
        } else others.set(status, (others.get(status) ?? 0) + 1);
      } catch {
        resets += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const overAt = performance.now();
  const isOver = async (path: string): Promise<boolean> =>
    !['running', 'pending'].includes(String((await node.call('GET', path)).body.status));
  const ends = await Promise.all([
    running !== null &&
      waitUntil('the run', () => isOver(`/v1/executions/${running}`), ENDS_WITHIN_MS).catch(() => false),
    ...started
      .slice(-100)
      .map((id) =>
        waitUntil('a start', () => isOver(`/v1/workflows/executions/${id}`), ENDS_WITHIN_MS).catch(() => false),
      ),
  ]);
  took.sort((a, b) => a - b);
  const said = [...others].map(([status, count]) => `, ${count} of status ${status}`).join('');
  const p99 = Math.round(took[Math.floor(took.length * 0.99)] ?? 0);
  return {
    runs: started.length + 1,
    hung: ends.filter((end) => !end).length,
    nodesEnded: node.process.crashed ? 1 : 0,
    lost: resets + [...others.values()].reduce((sum, count) => sum + count, 0),
    repeated: 0,
    recoveryMs: performance.now() - overAt,
    notes: [`${started.length} taken with p99 ${p99} ms, ${refused} refused, ${resets} connections broken${said}`],
  };
}
