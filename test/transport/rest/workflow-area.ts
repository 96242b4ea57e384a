import { approvalActor } from '../../../actors/approval/definition.ts';
import { APPROVALS, type ApprovalDocument } from '../../../actors/approval/view.ts';
import { workflowActor } from '../../../actors/workflow/definition.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../../../actors/workflow/view.ts';
import { createWorkflowCatalog } from '../../../catalog/workflow-catalog.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { createApprovalApi } from '../../../usecases/approvals.ts';
import { createWorkflowApi } from '../../../usecases/workflow-runs.ts';
import type { AreaKernel } from './area-kernel.ts';

/** Actors of workflows that need no effects. */
export const WORKFLOW_ACTORS = [workflowActor(), approvalActor];

/** Parts of a REST server in front of a kernel that serves them. No agent is deployed. */
export async function workflowParts({ documents, runtime }: AreaKernel) {
  const { client } = runtime;
  const approvals = createApprovalApi({ client, approvals: await documents.collection<ApprovalDocument>(APPROVALS) });
  const executions = await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
  const catalog = await createWorkflowCatalog({
    ...{ documents, clock: systemClock, random: systemRandom },
    agents: { get: () => Promise.reject(new SvcError('not_found')) },
  });
  return { approvals, workflows: { catalog, workflows: createWorkflowApi({ client, executions, approvals }) } };
}
