import { requireRole } from '../../../security/api.ts';
import type { LateManagement } from '../../../usecases/management.ts';
import type { Tool } from '../../tool.ts';
import { type ManagedCall, managed } from '../managed.ts';
import { approvalApprove, approvalList, approvalReject } from './contracts.ts';

/** svc.approval.*: questions to humans and their answers, with the roles of the routes for them (H19). */
export function approvalTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(approvalList, async ({ limit, offset }, { ports, identity }) => {
      requireRole(identity, 'read');
      const { items, total } = await ports.approvals.list(identity, { limit, skip: offset });
      return { pending_requests: items, count: total, limit, offset };
    }),

    define(approvalApprove, ({ request_id, feedback = null }, managedCall) =>
      answer(managedCall, request_id, { payload: 'approved', feedback }),
    ),

    define(approvalReject, ({ request_id, reason }, managedCall) =>
      answer(managedCall, request_id, { payload: 'rejected', feedback: reason }),
    ),
  ];
}

async function answer(
  { ports, identity, call: { trace, signal } }: ManagedCall,
  request_id: string,
  { payload, feedback }: { readonly payload: 'approved' | 'rejected'; readonly feedback: string | null },
): Promise<object> {
  requireRole(identity, 'run');
  await ports.approvals.answer(identity, request_id, { payload, feedback, by: null }, { trace, signal });
  return { status: payload, request_id };
}
