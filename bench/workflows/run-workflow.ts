import { randomUUID } from 'node:crypto';
import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { WorkflowApi } from '../../usecases/workflow-runs.ts';
import { STEPS } from './five-steps.ts';

const TENANT = 'bench';
const IDENTITY: Identity = { kind: 'local', subject: 'bench', tenant: TENANT, roles: [], tier: 'enterprise' };
const HEARTBEAT_MS = 5_000;
const MOST_HEARTBEATS = 12;

/** One workflow, started and awaited; throws unless it completed with all its steps done. */
export async function runWorkflow(workflows: WorkflowApi, manifest: WorkflowManifest): Promise<void> {
  const executionId = randomUUID();
  const workflowId = manifest.metadata.name;
  const request = { executionId, workflowId, manifest, input: {}, identity: IDENTITY };
  // As a start without an id of the caller has it.
  const { status } = await workflows.start(request, { isFirst: true });
  if (status === 'running') return follow(workflows, executionId);
  // All its steps ended in the turn of its start: the answer has the outcome, this reads what it wrote.
  const execution = await workflows.get(TENANT, executionId);
  if (execution.status !== 'completed' || Object.keys(execution.state_outputs).length !== STEPS)
    throw new Error(`a workflow ended ${execution.status}: ${execution.error}`);
}

async function follow(workflows: WorkflowApi, executionId: string): Promise<void> {
  const end = new AbortController();
  let left = 0;
  let heartbeats = 0;
  const options = { signal: end.signal, heartbeatMs: HEARTBEAT_MS };
  for await (const event of workflows.follow(TENANT, executionId, 0, options)) {
    if (event === null) {
      heartbeats += 1;
      if (heartbeats > MOST_HEARTBEATS) throw new Error(`workflow ${executionId} does not end`);
    } else if (event.name === 'WorkflowStateExited') left += 1;
    else if (event.name === 'WorkflowExecutionCompleted') {
      if (left !== STEPS) throw new Error(`workflow ${executionId} completed after ${left} steps`);
      return;
    }
  }
  throw new Error(`workflow ${executionId} did not complete`);
}
