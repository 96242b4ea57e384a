import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { isRunning, type WorkflowState } from './state.ts';

/** Collection behind the lists of workflow executions (R2). */
export const WORKFLOW_EXECUTIONS: CollectionSpec = {
  name: 'workflow_executions',
  unique: [],
  indexes: [
    ['removed', 'started_at'],
    // Lists filter by `removed`: with it in the index only the page is read.
    ['workflow_id', 'removed', 'started_at'],
    ['status', 'removed', 'started_at'],
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
  /** Subject that alone sees it, beside operators; absent: it is the tenant's. */
  readonly owner?: string;
}

export function projectWorkflow(
  state: WorkflowState,
  self: { readonly tenant: string; readonly id: string },
): Omit<WorkflowExecutionDocument, 'version'> | null {
  if (state.status === 'pending') return null;
  const ended = isRunning(state) ? null : state;
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
    ...(state.owner === undefined ? {} : { owner: state.owner }),
  };
}
