import { type EndError, endErrorOf } from '../actors/execution/ending.ts';
import type { CallInDoubt } from '../actors/execution/inner-loop/state.ts';
import type { EndedExecution, RunningExecution } from '../actors/execution/state.ts';
import type { ExecutionDocument } from '../actors/execution/view.ts';
import type { ActorSnapshot } from '../runtime/client.ts';
import { REMOVED_VERSION } from '../runtime/documents.ts';
import { foundOrNull } from '../runtime/kit/found.ts';
import type { ForkedFrom } from '../runtime/recording/forked-work.ts';
import { outcomeOf, type RunOutcome, UNFINISHED_STATUSES } from './runs/run.ts';
import type { WaitReason } from './waits/wait-reason.ts';

/** Result of `svc.task.status` (W36), with the ids that a caller needs. */
export interface ExecutionStatus {
  readonly execution_id: string;
  readonly agent_id: string;
  readonly status: 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
  readonly iteration_count: number;
  readonly last_output: string | null;
  readonly last_error: string | null;
  /** Null while it is unfinished. */
  readonly outcome: RunOutcome | null;
  /** Why it did not succeed; absent while it is unfinished, and when it succeeded. */
  readonly error?: EndError;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number; readonly cost: number };
  /** How often an effect was repeated because its outcome was unknown; absent for never. */
  readonly in_doubt?: number;
  /** Tool calls that have run, over all iterations; absent for none. */
  readonly tool_calls_executed?: number;
  /** Tool calls that may have had an effect when their node failed and that were not repeated; absent for none. */
  readonly calls_in_doubt?: CallInDoubt[];
  /**
   * What an unfinished execution waits for. Lists and answers to a start have it only when no live node may serve the
   * execution.
   */
  readonly waiting_for?: WaitReason;
  /** The workflow execution that it belongs to; absent for none. */
  readonly workflow_execution_id?: string;
  /** Trace of its start; absent for runs of earlier versions. */
  readonly trace_id?: string;
  /** The run and the message that it was forked from; absent for runs that began with a start. */
  readonly forked_from?: ForkedFrom;
}

/** Builds the status from committed state, so that a client reads its own writes (R2). */
export function statusOf(state: RunningExecution | EndedExecution, snapshot: ActorSnapshot): ExecutionStatus {
  const { stuck } = snapshot;
  const stuckText = stuck === null ? null : `${stuck.messageType} keeps failing: ${stuck.error}`;
  return {
    execution_id: state.execution_id,
    agent_id: state.agent_id,
    status: state.status,
    iteration_count: state.iteration_count,
    last_output: state.last_output,
    last_error: stuckText ?? state.last_error,
    ...endPart(state),
    started_at: state.started_at,
    ended_at: state.status === 'running' ? null : state.ended_at,
    usage: state.usage,
    ...(state.in_doubt > 0 ? { in_doubt: state.in_doubt } : {}),
    ...(state.tool_calls_executed > 0 ? { tool_calls_executed: state.tool_calls_executed } : {}),
    ...(state.calls_in_doubt.length > 0 ? { calls_in_doubt: state.calls_in_doubt } : {}),
    ...originPart(state),
  };
}

/** The outcome of a state or of a list document. */
function endPart(
  run: Pick<ExecutionDocument, 'status' | 'last_error' | 'iteration_count'> & { readonly reason?: string | null },
): Pick<ExecutionStatus, 'outcome' | 'error'> {
  const { status, reason = null, last_error, iteration_count } = run;
  const outcome = outcomeOf(status, false);
  if (outcome === null) return { outcome };
  const error = endErrorOf({ status, reason, last_error, iteration_count });
  return error === null ? { outcome } : { outcome, error };
}

type Origin = Pick<ExecutionStatus, 'trace_id' | 'forked_from' | 'workflow_execution_id'>;

const originPart = ({
  workflow_execution_id: run,
  trace_id,
  forked_from,
}: Pick<ExecutionDocument, 'workflow_execution_id' | 'trace_id' | 'forked_from'>): Origin => ({
  ...(run === null ? {} : { workflow_execution_id: run }),
  ...(trace_id === undefined ? {} : { trace_id }),
  ...(forked_from === undefined ? {} : { forked_from }),
});

/** Builds the status from a list document, whose texts are shortened. */
export function listed(document: ExecutionDocument, waiting?: WaitReason): ExecutionStatus {
  const { agent_id, status, iteration_count, last_output, last_error, started_at, ended_at, usage } = document;
  const doubts = document.in_doubt > 0 ? { in_doubt: document.in_doubt } : {};
  const execution_id = document.id;
  return {
    execution_id,
    agent_id,
    status,
    iteration_count,
    last_output,
    last_error,
    ...endPart(document),
    started_at,
    ended_at,
    usage,
    ...doubts,
    ...originPart(document),
    ...(waiting === undefined ? {} : { waiting_for: waiting }),
  };
}

/** The list document of a removed execution: it keeps the id and no text of the run. */
export function tombstone(tenant: string, id: string, status: ExecutionStatus): ExecutionDocument {
  return {
    tenant,
    id,
    version: REMOVED_VERSION,
    agent_id: status.agent_id,
    agent_name: '',
    agent_version: '',
    status: status.status === 'pending' ? 'failed' : status.status,
    iteration_count: status.iteration_count,
    started_at: status.started_at ?? '',
    ended_at: status.ended_at,
    updated_at: status.ended_at ?? '',
    last_error: null,
    last_output: null,
    reason: null,
    usage: status.usage,
    in_doubt: 0,
    workflow_execution_id: null,
    removed: true,
  };
}

/** An API that knows the status of executions or of workflow runs. */
interface Runs {
  status(tenant: string, id: string): Promise<{ readonly status: string }>;
}

const UNFINISHED: ReadonlySet<string> = new Set(UNFINISHED_STATUSES);

/** Whether a run has ended. An unknown run counts as ended, since it was removed. */
export async function hasEnded(runs: Runs, tenant: string, id: string): Promise<boolean> {
  const run = await foundOrNull(runs.status(tenant, id));
  return run === null || !UNFINISHED.has(run.status);
}
