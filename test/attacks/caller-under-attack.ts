import { setTimeout as pause } from 'node:timers/promises';
import type { AttackedNode } from './attacked-node.ts';
import type { ListenerAttack } from './listeners.ts';

export interface UnderAttack {
  readonly name: string;
  /** Longest turn of the event loop in CPU ms. */
  readonly heldMs: number;
  readonly grownMiB: number;
  /** Calls of another caller meanwhile. */
  readonly calls: number;
  readonly failed: number;
  readonly p99Ms: number;
}

const CALL_EVERY_MS = 10;
const PATIENCE_MS = 5_000;
const MiB = 1024 * 1024;

/** Answers that a caller with a token gets while others attack a listener for this time. */
export async function underAttack(node: AttackedNode, attack: ListenerAttack, forMs: number): Promise<UnderAttack> {
  const over = AbortSignal.timeout(forMs);
  const times: number[] = [];
  let failed = 0;
  const { rssBytes: before } = await node.watch(async () => undefined);
  const { longestMs, rssBytes } = await node.watch(async () => {
    const attackers = Array.from({ length: attack.attackers }, () => attack.run(over));
    while (!over.aborted) {
      const since = performance.now();
      if (!(await answered(node))) failed += 1;
      times.push(performance.now() - since);
      await pause(CALL_EVERY_MS);
    }
    await Promise.all(attackers);
  });
  const sorted = times.toSorted((a, b) => a - b);
  return {
    name: `${attack.listener} | ${attack.shape} | ${attack.token ? 'yes' : 'no'} | ${attack.attackers}`,
    heldMs: longestMs,
    grownMiB: Math.max(0, (rssBytes - before) / MiB),
    ...{ calls: times.length, failed, p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0 },
  };
}

async function answered(node: AttackedNode): Promise<boolean> {
  const headers = { authorization: `Bearer ${node.token}` };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    const answer = await fetch(`${node.url}/v1/agents`, { headers, signal });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
