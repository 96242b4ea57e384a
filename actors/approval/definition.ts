import { defineActor } from '../../runtime/define-actor.ts';
import { approvalEvents } from './events.ts';
import { Answer, Ask, Expired, Withdraw } from './handlers.ts';
import { approvalMessages } from './messages.ts';
import { ApprovalState } from './state.ts';
import { APPROVALS, projectApproval } from './view.ts';

/** One question to a human (spec 2, Human approvals): pending → answered | expired | withdrawn. Idle, it is in no memory. */
export const approvalActor = defineActor({
  kind: 'approval',
  version: 2,
  pool: 'system',
  state: ApprovalState,
  // Version 1 knew no owners: what it wrote is the tenant's.
  migrate: (state) => state,
  initial: () => ({ status: 'new' as const }),
  messages: approvalMessages,
  events: approvalEvents,
  creates: ['Ask'],
  finalEvents: ['ApprovalAnswered', 'ApprovalExpired', 'ApprovalWithdrawn'],
  on: { Ask, Answer, Expired, Withdraw },
  view: { collection: APPROVALS.name, indexes: APPROVALS.indexes, project: projectApproval },
  done: ({ status }) => status !== 'new' && status !== 'pending',
  isPart: true,
  belongsTo: (state, { tenant }) => (state.status === 'new' ? null : `workflow/${tenant}/${state.execution_id}`),
});
