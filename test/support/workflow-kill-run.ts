import { setTimeout as pause } from 'node:timers/promises';
import type { WorkflowCalls, WorkflowLogged, WorkflowSeen } from './workflow-kill-calls.ts';
import type { WorkflowCase } from './workflow-kill-cases.ts';
import { hasEnded } from './workflow-kill-waiting.ts';

const LOOK_MS = 50;

/** A run from its start to its end as a client saw it, with its children. */
export interface RunSeen {
  readonly of: WorkflowCase;
  readonly end: WorkflowSeen;
  readonly log: readonly WorkflowLogged[];
  /** All descendants, children before grandchildren. */
  readonly below: readonly { readonly end: WorkflowSeen; readonly log: readonly WorkflowLogged[] }[];
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** Starts a run, answers its approvals, and follows it and its children to their end across restarts of the node. */
export async function runCase(
  calls: WorkflowCalls,
  of: WorkflowCase,
  key: string,
  begun: (id: string) => void = () => {},
): Promise<RunSeen> {
  const startedAtMs = Date.now();
  const { start } = of;
  const id =
    start.by === 'run'
      ? await calls.run(of.name, start.body, key)
      : await calls.deliver(start.source, start.body, start.headers, key);
  begun(id);
  const end = await followToEnd(calls, id, of);
  const log = await calls.log(id);
  const below: { end: WorkflowSeen; log: WorkflowLogged[] }[] = [];
  const waiting = childrenIn(log);
  for (let child = waiting.shift(); child !== undefined; child = waiting.shift()) {
    const ended = await followToEnd(calls, child, of);
    const its = await calls.log(child);
    below.push({ end: ended, log: its });
    waiting.push(...childrenIn(its));
  }
  return { of, end, log, below, startedAtMs, endedAtMs: Date.parse(end.ended_at ?? '') };
}

async function followToEnd(calls: WorkflowCalls, id: string, { name, answers }: WorkflowCase): Promise<WorkflowSeen> {
  // In the order of the approvals; a repeated question gets the same answer.
  const asked: string[] = [];
  for (;;) {
    const seen = await calls.get(id);
    if (hasEnded(seen)) return seen;
    const approvalId = seen.waiting_for?.approval_id;
    if (seen.status === 'waiting_for_human_input' && approvalId !== undefined) {
      if (!asked.includes(approvalId)) asked.push(approvalId);
      const answer = answers[asked.indexOf(approvalId)];
      if (answer === undefined) throw new Error(`${name} asks a human in ${seen.current_state}: no answer is known`);
      await calls.answer(approvalId, answer);
    }
    await pause(LOOK_MS);
  }
}

/** Ids of the runs that it triggered. */
export const childrenIn = (log: readonly WorkflowLogged[]): string[] => [
  ...new Set(
    log
      .filter(({ event_type }) => event_type === 'SubworkflowTriggered')
      .map(({ payload }) => String(payload.child_execution_id)),
  ),
];
