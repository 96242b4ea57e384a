import { ApprovalState } from '../actors/approval/messages.ts';
import { type ApprovalDocument, projectApproval, timeoutSeconds } from '../actors/approval/view.ts';
import { type Address, addressOf } from '../runtime/address.ts';
import type { ActorClient, CallOptions } from '../runtime/client.ts';
import { type Page, type PageAsked, pageOf, shownPage } from '../runtime/documents/pages.ts';
import type { Collection } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { type Identity, seenPart, sees, tenantOfViewer, type Viewer } from '../runtime/identity.ts';

/** A question to a human, in the shape that callers get (H19). */
interface ApprovalRequest {
  readonly id: string;
  readonly execution_id: string;
  readonly prompt: string;
  /** ISO 8601. */
  readonly created_at: string;
  /** 0: the question has no time-out. */
  readonly timeout_seconds: number;
}

interface ApprovalAnswer {
  readonly payload: string;
  readonly feedback: string | null;
  readonly by: string | null;
}

/** Reads and answers the human approvals of a tenant (H19). */
export interface ApprovalApi {
  /** Pending approvals, oldest first. */
  list(viewer: Viewer, page?: PageAsked): Promise<Page<ApprovalRequest> & { readonly total: number }>;
  /** Resolves when the lists contain the approval, so that a caller that learns of it from an event finds it there. */
  ensureListed(tenant: string, approvalId: string): Promise<void>;
  /** Null when the approval is unknown, invisible to the viewer, expired, withdrawn or answered. */
  get(viewer: Viewer, approvalId: string): Promise<ApprovalRequest | null>;
  /**
   * Resolves when the answer is committed; only one answer wins. The run continues in its own trace. Throws `not_found`, and
   * `conflict` when the approval was answered or had expired before.
   */
  answer(identity: Identity, approvalId: string, answer: ApprovalAnswer, options?: CallOptions): Promise<void>;
}

const MOST_LISTED = 1_000;

const OLDEST_FIRST = [
  ['created_at', 'asc'],
  ['id', 'asc'],
] as const;

/** Implements `ApprovalApi` over messages, committed states and the collection `APPROVALS`. Has no state of its own. */
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

    async ensureListed(tenant, approvalId) {
      if ((await approvals.get(tenant, approvalId)) !== null) return;
      const snapshot = await client.read(approvalAddress(tenant, approvalId));
      if (snapshot === null) return;
      // The projector writes the same document with the same version; the first of the two counts.
      const document = projectApproval(ApprovalState.parse(snapshot.state), { tenant, id: approvalId });
      if (document !== null) await approvals.put({ ...document, version: snapshot.revision });
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
      const trace = await traceOf(client, address, identity);
      try {
        await client.ask(address, 'Answer', { payload, feedback, by }, { ...options, ...trace, identity });
      } catch (thrown) {
        if (thrown instanceof SvcError && thrown.code === 'not_found')
          throw new SvcError('not_found', 'request not found');
        throw thrown;
      }
    },
  };
}

/**
 * The trace in which a pending approval was asked, for callers who may answer it. The rest of the run continues in this
 * trace; otherwise it would continue in the trace of the caller who answers.
 */
async function traceOf(
  client: Pick<ActorClient, 'read'>,
  address: Address,
  identity: Identity,
): Promise<Pick<CallOptions, 'trace' | 'cause' | 'traceContext'>> {
  const snapshot = await client.read(address);
  const state = snapshot === null ? null : ApprovalState.parse(snapshot.state);
  if (state?.status !== 'pending' || state.asked_by === undefined || !sees(identity, state.owner)) return {};
  const { trace, message, context } = state.asked_by;
  return { trace, cause: message, traceContext: context };
}

const approvalAddress = (tenant: string, approvalId: string): Address => addressOf('approval', tenant, approvalId);

const requestOf = ({ id, execution_id, prompt, created_at, timeout_seconds }: ApprovalDocument): ApprovalRequest => ({
  id,
  execution_id,
  prompt,
  created_at,
  timeout_seconds,
});
