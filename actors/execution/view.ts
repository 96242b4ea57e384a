import type { ActorSnapshot } from '../../runtime/client.ts';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { WaitReason } from '../../usecases/waits/wait-reason.ts';
import { keepHead } from './bounded-text.ts';
import type { CallInDoubt } from './inner-loop/state.ts';
import type { EndedExecution, ExecutionState, RunningExecution, Usage } from './state.ts';

/** Collection behind the lists of executions (R2). */
export const EXECUTIONS: CollectionSpec = {
  name: 'executions',
  unique: [],
  indexes: [
    ['removed', 'started_at'],
    // Lists filter by `removed`: with it in the index only the page is read.
    ['agent_id', 'removed', 'started_at'],
    ['agent_id', 'removed', 'ended_at'],
    ['status', 'removed', 'started_at'],
    ['workflow_execution_id'],
  ],
  beside: ['owner'],
};

/** One execution in lists. */
export interface ExecutionDocument extends StoredDocument {
  readonly agent_id: string;
  readonly agent_name: string;
  readonly agent_version: string;
  /** `pending`: its actor has not handled the start, since it waits for a node. */
  readonly status: 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
  readonly iteration_count: number;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly updated_at: string;
  /** Bounded. */
  readonly last_error: string | null;
  /** Bounded. */
  readonly last_output: string | null;
  readonly reason: string | null;
  readonly usage: Usage;
  readonly in_doubt: number;
  readonly workflow_execution_id: string | null;
  readonly removed: boolean;
  /** Subject that alone sees it, beside operators; absent: it is the tenant's. */
  readonly owner?: string;
  /** While pending: tags that its node must have. */
  readonly waiting_tags?: readonly string[];
}

const LISTED_CHARS = 2_000;

const short = (text: string | null): string | null => (text === null ? null : keepHead(text, LISTED_CHARS));

export function projectExecution(
  state: ExecutionState,
  self: { readonly tenant: string; readonly id: string },
): Omit<ExecutionDocument, 'version'> | null {
  if (state.status === 'pending') return null;
  const ended = state.status === 'running' ? null : state;
  return {
    tenant: self.tenant,
    id: self.id,
    agent_id: state.agent_id,
    agent_name: state.agent_name,
    agent_version: state.agent_version,
    status: state.status,
    iteration_count: state.iteration_count,
    started_at: state.started_at,
    ended_at: ended?.ended_at ?? null,
    updated_at: state.updated_at,
    last_error: short(state.last_error),
    last_output: short(state.last_output),
    reason: ended?.reason ?? null,
    usage: state.usage,
    in_doubt: state.in_doubt,
    workflow_execution_id: state.workflow_execution_id,
    removed: false,
    ...(state.owner === undefined ? {} : { owner: state.owner }),
  };
}

/** Above every revision of an actor, so that the projector never writes a removed execution again. */
const REMOVED_VERSION = Number.MAX_SAFE_INTEGER;

/** Result of `svc.task.status` (W36) with the ids a caller needs. */
export interface ExecutionStatus {
  readonly execution_id: string;
  readonly agent_id: string;
  readonly status: 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
  readonly iteration_count: number;
  readonly last_output: string | null;
  readonly last_error: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number; readonly cost: number };
  /** How often an effect was asked for again because its outcome was unknown; absent when never. */
  readonly in_doubt?: number;
  /** Tool calls that have run, over all iterations; absent when none did. */
  readonly tool_calls_executed?: number;
  /** Tool calls that may have acted when their node failed, and were not repeated; absent when there is none. */
  readonly calls_in_doubt?: CallInDoubt[];
  /** What an unfinished one waits for; in lists and answers to a start only when no live node may serve it. */
  readonly waiting_for?: WaitReason;
}

/** From committed state, so a client reads its own writes (R2). */
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
    started_at: state.started_at,
    ended_at: state.status === 'running' ? null : state.ended_at,
    usage: state.usage,
    ...(state.in_doubt > 0 ? { in_doubt: state.in_doubt } : {}),
    ...(state.tool_calls_executed > 0 ? { tool_calls_executed: state.tool_calls_executed } : {}),
    ...(state.calls_in_doubt.length > 0 ? { calls_in_doubt: state.calls_in_doubt } : {}),
  };
}

/** From a list document; its texts are shorter. */
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
    started_at,
    ended_at,
    usage,
    ...doubts,
    ...(waiting === undefined ? {} : { waiting_for: waiting }),
  };
}

/** Says only that the id was removed: no text of the run stays in the collection. */
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

/** An API that knows the status of runs: executions or workflows. */
interface Runs {
  status(tenant: string, id: string): Promise<{ readonly status: string }>;
}

const UNFINISHED = new Set(['pending', 'running', 'waiting_for_human_input']);

/** An unknown run counts as ended: it was removed. */
export async function hasEnded(runs: Runs, tenant: string, id: string): Promise<boolean> {
  try {
    const { status } = await runs.status(tenant, id);
    return !UNFINISHED.has(status);
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return true;
    throw thrown;
  }
}
