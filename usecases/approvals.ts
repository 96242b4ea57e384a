import { type Address, addressOf } from '../runtime/address.ts';
import type { ActorClient, CallOptions } from '../runtime/client.ts';
import { type Page, type PageAsked, pageOf, shownPage } from '../runtime/documents/pages.ts';
import type { Collection, CollectionSpec, StoredDocument } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { type Identity, seenPart, sees, tenantOfViewer, type Viewer } from '../runtime/identity.ts';
import { ApprovalState } from '../actors/approval/messages.ts';

/** A question to a human as callers see it (H19). */
interface ApprovalRequest {
  readonly id: string;
  readonly execution_id: string;
  readonly prompt: string;
  /** ISO 8601. */
  readonly created_at: string;
  /** 0: it waits without end. */
  readonly timeout_seconds: number;
}

interface ApprovalAnswer {
  readonly payload: string;
  readonly feedback: string | null;
  readonly by: string | null;
}

/** Human approvals of a tenant (H19). */
export interface ApprovalApi {
  /** Pending ones, oldest first. */
  list(viewer: Viewer, page?: PageAsked): Promise<Page<ApprovalRequest> & { readonly total: number }>;
  /** Null when it is unknown, not the viewer's to see, expired, withdrawn or answered. */
  get(viewer: Viewer, approvalId: string): Promise<ApprovalRequest | null>;
  /**
   * Resolves when the answer is committed: one wins. Throws `conflict` when it was answered or expired before, `not_found`.
   */
  answer(identity: Identity, approvalId: string, answer: ApprovalAnswer, options?: CallOptions): Promise<void>;
}

/** Where the lists of approvals come from (R2). */
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
  /** 0: it waits without end. */
  readonly timeout_seconds: number;
  readonly resolved_at: string | null;
  readonly payload: string | null;
  /** Subject that alone sees it, beside operators; absent: it is the tenant's. */
  readonly owner?: string;
}

/** Whole seconds, at least the time that is given; 0 for without end. */
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

const MOST_LISTED = 1_000;

const OLDEST_FIRST = [
  ['created_at', 'asc'],
  ['id', 'asc'],
] as const;

/** `ApprovalApi` over messages, committed states and the collection `APPROVALS`. Keeps nothing itself. */
export function createApprovalApi(parts: {
  readonly client: Pick<ActorClient, 'ask' | 'read'>;
  readonly approvals: Collection<ApprovalDocument>;
}): ApprovalApi {
  const { client, approvals } = parts;
  return {
    async list(viewer, page = { limit: MOST_LISTED }) {
      const query = { tenant: tenantOfViewer(viewer), where: { status: 'pending', ...seenPart(viewer) } };
      const limit = Math.min(page.limit, MOST_LISTED);
      const [found, total] = await Promise.all([
        pageOf(approvals, 'approvals', { ...query, sort: OLDEST_FIRST }, { ...page, limit }),
        approvals.count(query),
      ]);
      return { ...shownPage(found, requestOf), total };
    },

    async get(viewer, approvalId) {
      const snapshot = await client.read(approvalAddress(tenantOfViewer(viewer), approvalId));
      const state = snapshot === null ? null : ApprovalState.parse(snapshot.state);
      if (state?.status !== 'pending' || !sees(viewer, state.owner)) return null;
      const { approval_id: id, execution_id, prompt, created_at, timeout_ms } = state;
      return { id, execution_id, prompt, created_at, timeout_seconds: timeoutSeconds(timeout_ms) };
    },

    async answer(identity, approvalId, { payload, feedback, by }, options) {
      const address = approvalAddress(identity.tenant, approvalId);
      try {
        await client.ask(address, 'Answer', { payload, feedback, by }, { ...options, identity });
      } catch (thrown) {
        if (thrown instanceof SvcError && thrown.code === 'not_found')
          throw new SvcError('not_found', 'request not found');
        throw thrown;
      }
    },
  };
}

const approvalAddress = (tenant: string, approvalId: string): Address => addressOf('approval', tenant, approvalId);

const requestOf = ({ id, execution_id, prompt, created_at, timeout_seconds }: ApprovalDocument): ApprovalRequest => ({
  id,
  execution_id,
  prompt,
  created_at,
  timeout_seconds,
});
