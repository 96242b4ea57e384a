import type { Identity } from '../../../runtime/identity.ts';
import { requireRole } from '../../../security/api.ts';
import { type AskedWait, endWait } from '../../../usecases/fields.ts';
import { inTenant, type LateManagement, readerOf, unless } from '../../../usecases/management.ts';
import type { WorkflowSummary } from '../../../usecases/workflow-runs.ts';
import type { Tool } from '../../tool.ts';
import { refusalOf } from '../failure.ts';
import { type ManagedCall, managed } from '../managed.ts';
import {
  executionsGet,
  executionsList,
  workflowCancel,
  workflowLogs,
  workflowRemove,
  workflowRun,
  workflowSignal,
  workflowStatusTool,
  workflowWait,
} from './run-contracts.ts';

const MISSING = 'workflow execution not found';

/** The tools svc.workflow.* for executions (W35), over `WorkflowApi`. */
export function workflowRunTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(workflowRun, async ({ name: workflow, ...rest }, { ports, identity, call }) => {
      const { trace, signal, id: executionId } = call;
      const { execution_id } = await ports.starts.workflow(
        { workflow, ...rest },
        { identity, trace, signal, executionId },
      );
      return { execution_id, status: 'started' };
    }),

    define(executionsList, async ({ workflow_id, limit, offset, tenant_id }, { ports, identity }) => {
      const asker = inTenant(identity, tenant_id, 'tenant not found');
      const workflowId = workflow_id === undefined ? undefined : await idOf(ports, asker, workflow_id);
      const { items, total } = await ports.runs.list(asker, { workflowId, limit, skip: offset });
      return { executions: items.map(listed), total, limit, offset };
    }),

    define(executionsGet, ({ execution_id, tenant_id }, { ports, identity }) =>
      ports.runs.get(inTenant(identity, tenant_id, MISSING), execution_id),
    ),

    define(workflowStatusTool, async ({ execution_id, tenant_id }, { ports, identity }) =>
      standing(await ports.runs.status(inTenant(identity, tenant_id, MISSING), execution_id)),
    ),

    define(workflowLogs, async ({ execution_id, limit, offset }, { ports, identity }) => {
      const log = await ports.runs.logs(identity, execution_id, { limit, offset });
      return { tool: 'svc.workflow.logs', execution_id, ...log, limit, offset };
    }),

    define(workflowCancel, ({ execution_id }, { ports, identity, call: { trace, signal } }) =>
      doneOrNot('cancelled', execution_id, () => ports.runs.cancel(identity, execution_id, { trace, signal })),
    ),

    define(workflowWait, waitForWorkflow),

    define(workflowSignal, ({ execution_id, response }, { ports, identity, call: { trace, signal } }) =>
      doneOrNot('signalled', execution_id, () =>
        ports.runs.signal(identity, execution_id, response, { trace, signal }),
      ),
    ),

    define(workflowRemove, ({ execution_id }, { ports, identity }) =>
      doneOrNot('removed', execution_id, async () => {
        // Throws for an unknown id before the role check, whatever the caller's role.
        await ports.runs.status(identity, execution_id);
        requireRole(identity, 'write');
        await ports.runs.remove(identity, execution_id);
      }),
    ),
  ];
}

/** svc.workflow.wait and svc.execute.wait. Releases the effect's concurrency slot while it waits. */
export async function waitForWorkflow(
  { execution_id, ...asked }: AskedWait & { readonly execution_id: string },
  { ports, identity, call }: ManagedCall,
): Promise<object> {
  // Throws for a run that the caller may not see, before the wait begins.
  if (call.resumed === undefined) await ports.runs.status(identity, execution_id);
  const { tenant } = identity;
  const ended = call.waitedFor((signal) => ports.waits.workflow(tenant, execution_id, endWait(asked, call, signal)));
  const { blackboard, ...execution } = await ports.runs.get(identity, execution_id);
  if (ended || execution.ended_at !== null) return { ...standing(execution), blackboard };
  const { status, current_state } = execution;
  return { execution_id, status, current_state, timed_out: true };
}

async function doneOrNot(word: string, execution_id: string, act: () => Promise<void>): Promise<object> {
  try {
    await act();
    return { [word]: true, execution_id };
  } catch (thrown) {
    return { [word]: false, error: refusalOf(thrown) };
  }
}

/** The result of svc.workflow.status. */
function standing(summary: WorkflowSummary) {
  const { execution_id, workflow_id, status, outcome, error, current_state, started_at, last_transition_at } = summary;
  return { execution_id, workflow_id, status, outcome, error, current_state, started_at, last_transition_at };
}

const listed = (summary: WorkflowSummary) => ({ ...standing(summary), ended_at: summary.ended_at });

/** The id of a workflow. An id that is no longer deployed is accepted, since executions outlive their workflow. */
async function idOf(ports: ManagedCall['ports'], identity: Identity, idOrName: string): Promise<string> {
  const found = await unless('not_found', ports.workflows.get(readerOf(identity), idOrName));
  return found?.id ?? idOrName.toLowerCase();
}
