import type { ExecutionStatus, WorkflowExecutionStatus } from '../../clients/typescript/gen/operations.ts';
import { api } from './queries.ts';

export type RunKind = 'execution' | 'workflow';

/** A run of an agent or of a workflow, as lists show it. */
export interface Run {
  readonly kind: RunKind;
  readonly id: string;
  readonly name: string;
  readonly version: string | null;
  readonly status: string;
  /** Why it waits or failed. */
  readonly reason: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

export interface RunFilter {
  readonly kind?: string;
  readonly status?: string;
  readonly text?: string;
}

export interface RunPage {
  readonly runs: readonly Run[];
  readonly next: string | null;
}

export const RUN_STATUSES = [
  'pending',
  'running',
  'waiting_for_human_input',
  'completed',
  'failed',
  'cancelled',
] as const;

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

export const hasEnded = ({ status }: Pick<Run, 'status'>): boolean => ENDED.has(status);

const EXECUTION_STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const;
const WORKFLOW_STATUSES = ['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled'] as const;

const LIMIT = 1_000;

/** Runs of agents and workflows together, newest first. */
export async function listRuns({ kind, status, text }: RunFilter): Promise<RunPage> {
  const [executions, workflows] = await Promise.all([
    kind === 'workflow' ? [] : agentRuns(status),
    kind === 'execution' ? [] : workflowRuns(status),
  ]);
  const wanted = text?.toLowerCase() ?? '';
  const runs = [...executions, ...workflows]
    .filter((run) => wanted === '' || `${run.name} ${run.id} ${run.reason ?? ''}`.toLowerCase().includes(wanted))
    .sort((a, b) => (b.startedAt ?? '').localeCompare(a.startedAt ?? '') || a.id.localeCompare(b.id));
  return { runs, next: null };
}

async function agentRuns(status: string | undefined): Promise<Run[]> {
  const asked = EXECUTION_STATUSES.find((one) => one === status);
  if (status !== undefined && status !== '' && asked === undefined) return [];
  const [{ executions }, { agents }] = await Promise.all([
    api.executions.list({ status: asked, limit: LIMIT }),
    api.agents.list({ scope: 'visible' }),
  ]);
  const names = new Map(agents.map(({ agent_id, name }) => [agent_id, name]));
  return executions.map((one) => executionRun(one, names.get(one.agent_id) ?? 'removed agent'));
}

const executionRun = (one: ExecutionStatus, name: string): Run => ({
  kind: 'execution',
  id: one.execution_id,
  name,
  version: null,
  status: one.status,
  reason: one.waiting_for?.reason ?? (one.status === 'failed' ? one.last_error : null),
  startedAt: one.started_at,
  endedAt: one.ended_at,
});

async function workflowRuns(status: string | undefined): Promise<Run[]> {
  const asked = WORKFLOW_STATUSES.find((one) => one === status);
  if (status !== undefined && status !== '' && asked === undefined) return [];
  const { executions } = await api.workflowExecutions.list({ status: asked, limit: LIMIT });
  return executions.map(workflowRun);
}

type ListedWorkflowRun = Omit<
  WorkflowExecutionStatus,
  'intent' | 'input' | 'blackboard' | 'state_outputs' | 'output' | 'waiting_for'
> &
  Partial<Pick<WorkflowExecutionStatus, 'waiting_for'>>;

export const workflowRun = (one: ListedWorkflowRun): Run => ({
  kind: 'workflow',
  id: one.execution_id,
  name: one.workflow_name,
  version: one.workflow_version,
  status: one.status,
  reason: one.waiting_for?.reason ?? one.error ?? one.reason ?? (one.ended_at === null ? one.current_state : null),
  startedAt: one.started_at,
  endedAt: one.ended_at,
});

/** Cancels a run. */
export const cancelRun = ({ kind, id }: Pick<Run, 'kind' | 'id'>): Promise<unknown> =>
  kind === 'execution' ? api.executions.cancel({ id }) : api.workflowExecutions.cancel({ id });

/** Removes the record of a run that has ended. */
export const removeRun = ({ kind, id }: Pick<Run, 'kind' | 'id'>): Promise<unknown> =>
  kind === 'execution' ? api.executions.remove({ id }) : api.workflowExecutions.remove({ id });
