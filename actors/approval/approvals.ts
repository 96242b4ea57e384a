import { type Address, addressOf } from '../../runtime/address.ts';
import type { ActorClient } from '../../runtime/client.ts';
import { pageOf, shownPage } from '../../runtime/documents/pages.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { seenPart, sees, tenantOfViewer } from '../../runtime/viewer.ts';
import type { ApprovalApi, ApprovalRequest } from './api.ts';
import { ApprovalState } from './state.ts';
import { type ApprovalDocument, timeoutSeconds } from './view.ts';

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
