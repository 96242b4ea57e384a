import { parseAddress } from '../../runtime/address.ts';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { isJsonObject } from '../../runtime/json.ts';
import type { ForkedFrom } from '../../runtime/recording/forked-work.ts';
import { keepHead } from '../execution/bounded-text.ts';
import { own } from './json-values.ts';
import { type Awaiting, type EndedWorkflow, isRunning, type WorkflowState } from './state.ts';
import type { StepError } from './steps/step.ts';

/** Collection behind the lists of workflow executions (R2). */
export const WORKFLOW_EXECUTIONS: CollectionSpec = {
  name: 'workflow_executions',
  unique: [],
  indexes: [
    ['removed', 'started_at'],
    // Lists filter by `removed`: with it in the index only the page is read.
    ['workflow_id', 'removed', 'started_at'],
    ['workflow_name', 'removed', 'started_at'],
    ['status', 'removed', 'started_at'],
    ['parent_id', 'removed', 'started_at'],
    ['trace_id', 'removed', 'started_at'],
  ],
  beside: ['owner'],
  counted: ['removed', 'workflow_id', 'status', 'owner'],
};

/** One run in lists. */
export interface WorkflowExecutionDocument extends StoredDocument {
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly workflow_version: string;
  readonly status: 'running' | 'waiting_for_human_input' | 'completed' | 'failed' | 'cancelled';
  readonly current_state: string | null;
  readonly reason: string | null;
  readonly error: string | null;
  readonly started_at: string;
  readonly last_transition_at: string;
  readonly ended_at: string | null;
  readonly removed: boolean;
  /** The only subject, besides operators, that sees it; absent: every caller of the tenant does. */
  readonly owner?: string;
  /** Absent: none. The fields below are absent in documents of earlier versions too. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly trace_id?: string;
  readonly forked_from?: ForkedFrom;
  /** Set when the run is completed and its last state failed. */
  readonly last_state_failed?: true;
  /** The error of that state. */
  readonly last_state_error?: StepError;
  /** How it ended; null while it is not. */
  readonly outcome?: WorkflowOutcome | null;
  /** What it waits for while it runs, as in `OwnWait` (usecases/waits). */
  readonly wait_kind?: WorkflowWaitKind;
  /** The actor that started it: another run, a stimulus. */
  readonly parent_kind?: string;
  readonly parent_id?: string;
  /** Node and pool that handled its last message; the projector adds them. */
  readonly node?: string;
  readonly pool?: string;
}

type WorkflowWaitKind = 'volumes' | 'turn' | 'child' | 'judges' | 'effect' | 'timer' | 'approval';

export function projectWorkflow(
  state: WorkflowState,
  self: { readonly tenant: string; readonly id: string },
): Omit<WorkflowExecutionDocument, 'version'> | null {
  if (state.status === 'pending') return null;
  const ended = isRunning(state) ? null : state;
  const lastError = ended === null ? undefined : (lastStateError(ended) ?? undefined);
  return {
    tenant: self.tenant,
    id: self.id,
    workflow_id: state.workflow_id,
    workflow_name: state.workflow_name,
    workflow_version: state.workflow_version,
    status: state.status,
    current_state: state.current_state,
    reason: ended?.reason ?? null,
    error: ended?.error ?? null,
    started_at: state.started_at,
    last_transition_at: state.last_transition_at,
    ended_at: ended?.ended_at ?? null,
    removed: false,
    labels: state.labels,
    trace_id: state.trace_id,
    forked_from: state.forked_from,
    last_state_failed: lastError === undefined ? undefined : true,
    last_state_error: lastError,
    outcome: ended === null ? null : outcomeOf(ended),
    wait_kind: isRunning(state) ? waitKindOf(state.awaiting) : undefined,
    ...parentFields(state.notify?.to),
    ...(state.owner === undefined ? {} : { owner: state.owner }),
  };
}

function waitKindOf(awaiting: Awaiting): WorkflowWaitKind {
  switch (awaiting.kind) {
    case 'volumes':
    case 'turn':
    case 'approval':
      return awaiting.kind;
    case 'agent':
    case 'child':
      return 'child';
    case 'panel':
      return 'judges';
    case 'container':
      return awaiting.retry_at === null ? 'effect' : 'timer';
    case 'command':
    case 'containers':
      return 'effect';
  }
}

function parentFields(parent: string | undefined): { readonly parent_kind?: string; readonly parent_id?: string } {
  if (parent === undefined) return {};
  const { kind, id } = parseAddress(parent);
  return { parent_kind: kind, parent_id: id };
}

export type WorkflowOutcome = 'succeeded' | 'failed' | 'cancelled';

/** How an ended run ended (H21). */
export function outcomeOf(state: EndedWorkflow): WorkflowOutcome {
  if (state.status !== 'completed') return state.status;
  return lastStateError(state) === null ? 'succeeded' : 'failed';
}

/** The error of the last state of a completed run; null when it succeeded. */
export function lastStateError({ status, blackboard, current_state }: EndedWorkflow): StepError | null {
  const record = status === 'completed' ? own(blackboard, current_state ?? '') : undefined;
  if (!isJsonObject(record) || record.status !== 'failed') return null;
  const { code, message } = isJsonObject(record.error) ? record.error : {};
  return { code: typeof code === 'string' ? code : 'failed', message: keepHead(String(message ?? ''), 1_000) };
}
