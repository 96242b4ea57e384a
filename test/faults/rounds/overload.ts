import { stringify } from 'yaml';
import { waitUntil } from '../../support/wait-until.ts';
import { CrowdedNode } from './crowded-node.ts';
import type { FaultCase, FaultWorld, RoundOutcome } from './fault-case.ts';

const CLIENTS = 2_000;
const LASTS_MS = 5_000;
const ENDS_WITHIN_MS = 60_000;

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
  rounds: 20,
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
  let broken = 0;
  const until = performance.now() + lastsMs;
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      const at = performance.now();
      try {
        const { status, body } = await node.call('POST', '/v1/workflows/pure/run', { input: {} });
        if (status === 200) {
          took.push(performance.now() - at);
          started.push(String(body.execution_id));
        } else if (status === 503 && body.error === 'overloaded') {
          refused += 1;
          await new Promise((resolve) => setTimeout(resolve, 1_000));
        } else broken += 1;
      } catch {
        broken += 1;
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
  const p99 = Math.round(took[Math.floor(took.length * 0.99)] ?? 0);
  return {
    runs: started.length + 1,
    hung: ends.filter((end) => !end).length,
    nodesEnded: node.process.crashed ? 1 : 0,
    lost: broken,
    repeated: 0,
    recoveryMs: performance.now() - overAt,
    notes: [`${started.length} taken with p99 ${p99} ms, ${refused} refused, ${broken} connections broken`],
  };
}
