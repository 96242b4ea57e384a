import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { ApprovalState } from './messages.ts';
/** Collection behind the lists of approvals (R2). */
export const APPROVALS: CollectionSpec = {
  name: 'approvals',
  unique: [],
  indexes: [['status', 'created_at'], ['created_at'], ['execution_id']],
  beside: ['owner'],
  counted: ['status', 'owner'],
};

/** One approval in lists. */
export interface ApprovalDocument extends StoredDocument {
  readonly status: 'pending' | 'answered' | 'expired' | 'withdrawn';
  readonly execution_id: string;
  readonly state_name: string;
  readonly prompt: string;
  readonly created_at: string;
  /** 0: no time-out. */
  readonly timeout_seconds: number;
  readonly resolved_at: string | null;
  readonly payload: string | null;
  /** The only subject, besides operators, that sees it; absent: every caller of the tenant does. */
  readonly owner?: string;
}

/** The time in whole seconds, rounded up; 0 for no time-out. */
export const timeoutSeconds = (timeoutMs: number | null): number =>
  timeoutMs === null ? 0 : Math.ceil(timeoutMs / 1_000);

export function projectApproval(
  state: ApprovalState,
  self: { readonly tenant: string; readonly id: string },
): Omit<ApprovalDocument, 'version'> | null {
  if (state.status === 'new') return null;
  return {
    tenant: self.tenant,
    id: self.id,
    status: state.status,
    execution_id: state.execution_id,
    state_name: state.state_name,
    prompt: state.prompt,
    created_at: state.created_at,
    timeout_seconds: timeoutSeconds(state.timeout_ms),
    resolved_at: state.status === 'pending' ? null : state.resolved_at,
    payload: state.status === 'answered' || state.status === 'expired' ? state.payload : null,
    ...(state.owner === undefined ? {} : { owner: state.owner }),
  };
}
