import type { ExecutionDocument } from '../../actors/execution/view.ts';
import type { WorkflowExecutionDocument } from '../../actors/workflow/view.ts';
import { tagsOfPool } from '../../runtime/locator.ts';
import type { ForkedFrom } from '../../runtime/recording/forked-work.ts';
import type { OwnWait } from '../waits/wait-reason.ts';

export const RUN_KINDS = ['execution', 'workflow'] as const;

export type RunKind = (typeof RUN_KINDS)[number];

export const RUN_STATUSES = [
  'pending',
  'running',
  'waiting_for_human_input',
  'completed',
  'failed',
  'cancelled',
] as const;

export type RunStatus = (typeof RUN_STATUSES)[number];

export const UNFINISHED_STATUSES = [
  'pending',
  'running',
  'waiting_for_human_input',
] as const satisfies readonly RunStatus[];

/** How a run has ended (H21). */
export const RUN_OUTCOMES = ['succeeded', 'failed', 'cancelled'] as const;

export type RunOutcome = (typeof RUN_OUTCOMES)[number];

export const WAIT_KINDS = [
  'node',
  'timer',
  'approval',
  'child',
  'judges',
  'effect',
  'volumes',
  'turn',
] as const satisfies readonly OwnWait['kind'][];

export type WaitKind = OwnWait['kind'];

/** An execution of an agent or a run of a workflow, as the list of both shows it. */
export interface Run {
  readonly id: string;
  readonly kind: RunKind;
  readonly status: RunStatus;
  /** Null while it is unfinished. */
  readonly outcome: RunOutcome | null;
  /** Name of the agent or workflow. */
  readonly name: string;
  readonly version: string;
  /** UUID of the agent or workflow. */
  readonly definition_id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Null while it is unfinished. */
  readonly duration_ms: number | null;
  /** Tags that its node must have. */
  readonly tags: readonly string[];
  /** Node that handled its last message; null until one has. */
  readonly node: string | null;
  /** Null once it has ended. */
  readonly wait_reason: WaitKind | null;
  /** Current state of a workflow. */
  readonly state_name: string | null;
  /** Code of a failure. */
  readonly error_code: string | null;
  /** Short text for people: the failure, or why it was cancelled. */
  readonly reason: string | null;
  readonly trace_id: string | null;
  /** The run and the message that it was forked from. */
  readonly forked_from: ForkedFrom | null;
  /** The actor that started it, such as a workflow run. */
  readonly parent: { readonly kind: string; readonly id: string } | null;
}

/** The list document of a run, with its kind. */
export type RunDocument =
  | { readonly kind: 'execution'; readonly document: ExecutionDocument }
  | { readonly kind: 'workflow'; readonly document: WorkflowExecutionDocument };

const REASON_CHARS = 300;

export const isUnfinished = (status: RunStatus): boolean =>
  status === 'pending' || status === 'running' || status === 'waiting_for_human_input';

/** `isServed`: whether a live node may serve the pool of a run. */
export function runOf({ kind, document }: RunDocument, isServed: (pool: string) => boolean = () => true): Run {
  const { id, status, started_at, ended_at, labels = {}, node = null, trace_id = null, forked_from = null } = document;
  const isExecution = kind === 'execution';
  const lastError = isExecution ? undefined : document.last_state_error;
  const error_code = status === 'failed' ? document.reason : (lastError?.code ?? null);
  return {
    id,
    kind,
    status,
    outcome: outcomeOf(status, !isExecution && document.last_state_failed === true),
    name: isExecution ? document.agent_name : document.workflow_name,
    version: isExecution ? document.agent_version : document.workflow_version,
    definition_id: isExecution ? document.agent_id : document.workflow_id,
    labels,
    started_at,
    ended_at,
    duration_ms: ended_at === null ? null : Math.max(0, Date.parse(ended_at) - Date.parse(started_at)),
    tags: (isExecution ? document.waiting_tags : undefined) ?? tagsOfPool(document.pool ?? ''),
    node,
    wait_reason: waitKindOf(document, isServed),
    state_name: isExecution ? null : document.current_state,
    error_code,
    reason: reasonOf(
      isExecution ? document.last_error : (document.error ?? lastError?.message ?? null),
      document.reason,
    ),
    trace_id,
    forked_from,
    parent: parentOf(document),
  };
}

/** A workflow whose last state failed is completed, and has failed (H21). */
export function outcomeOf(status: RunStatus, lastStateFailed: boolean): RunOutcome | null {
  if (isUnfinished(status)) return null;
  if (status === 'cancelled') return 'cancelled';
  return status === 'completed' && !lastStateFailed ? 'succeeded' : 'failed';
}

function waitKindOf(
  { status, wait_kind, pool }: Pick<RunDocument['document'], 'status' | 'wait_kind' | 'pool'>,
  isServed: (pool: string) => boolean,
): WaitKind | null {
  if (!isUnfinished(status)) return null;
  if (status === 'pending' || (pool !== undefined && !isServed(pool))) return 'node';
  if (status === 'waiting_for_human_input') return 'approval';
  return wait_kind ?? 'turn';
}

function reasonOf(error: string | null, reason: string | null): string | null {
  const text = error ?? reason;
  return text === null || text.length <= REASON_CHARS ? text : `${text.slice(0, REASON_CHARS - 1)}…`;
}

function parentOf(document: RunDocument['document']): Run['parent'] {
  if ('workflow_execution_id' in document && document.workflow_execution_id !== null)
    return { kind: 'workflow', id: document.workflow_execution_id };
  const { parent_kind: kind, parent_id: id } = document;
  return kind === undefined || id === undefined ? null : { kind, id };
}
