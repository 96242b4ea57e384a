import { randomUUID } from 'node:crypto';
import { waitUntil } from './wait-until.ts';
import type { WorkflowCalls, WorkflowSeen } from './workflow-kill-calls.ts';

/** The smallest workflow that waits: one state that asks a human, one that ends. */
export const WAITING_WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: waits-for-a-human, version: 1.0.0 }
spec:
  initial_state: GATE
  states:
    GATE:
      kind: Human
      prompt: "May {{input.who}} go on?"
      timeout: 30d
      transitions: [{ condition: always, target: DONE }]
    DONE: { kind: System, command: finalize, env: { by: "{{human.feedback}}" }, transitions: [] }
`;

export interface Waiting {
  readonly id: string;
  readonly approvalId: string;
}

/** Starts this many runs; resolves when each waits for its human. */
export async function startWaiting(calls: WorkflowCalls, count: number, atATime = 32): Promise<Waiting[]> {
  return inLanes(count, atATime, async (index) => {
    const id = await calls.run('waits-for-a-human', { input: { who: `number ${index}` } }, randomUUID());
    const approvalId = await waitUntil(
      `run ${id} to wait for a human`,
      async () => {
        const { status, waiting_for } = await calls.get(id);
        return status === 'waiting_for_human_input' && waiting_for?.approval_id;
      },
      60_000,
    );
    return { id, approvalId };
  });
}

export const hasEnded = ({ status }: WorkflowSeen): boolean =>
  status !== 'running' && status !== 'waiting_for_human_input';

/** Ends of the runs, in the order of the runs. */
export function endsOf(calls: WorkflowCalls, runs: readonly Waiting[], atATime = 32): Promise<WorkflowSeen[]> {
  return inLanes(runs.length, atATime, (index) => {
    const id = runs[index]?.id ?? '';
    const look = async () => {
      const seen = await calls.get(id);
      return hasEnded(seen) && seen;
    };
    return waitUntil(`run ${id} to end`, look, 120_000);
  });
}

async function inLanes<T>(count: number, lanes: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, count) }, lane));
  return results;
}
