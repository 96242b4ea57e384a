import type { ExecutionDocument } from '../../actors/execution/view.ts';
import type { WorkflowExecutionDocument } from '../../actors/workflow/view.ts';

const time = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();

/** Id of the n-th run of a test. */
export const runId = (n: number): string => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`;

/** The list document of a completed execution that started in minute `n`. */
export const executionDocument = (n: number, given: Partial<ExecutionDocument> = {}): ExecutionDocument => ({
  tenant: 'acme',
  id: runId(n),
  version: 1,
  agent_id: 'a0000000-0000-4000-8000-000000000000',
  agent_name: 'writer',
  agent_version: '1.0.0',
  status: 'completed',
  iteration_count: 1,
  started_at: time(n),
  ended_at: time(n + 1),
  updated_at: time(n + 1),
  last_error: null,
  last_output: 'done',
  reason: null,
  usage: { input_tokens: 1, output_tokens: 1, cost: 0 },
  in_doubt: 0,
  workflow_execution_id: null,
  removed: false,
  ...given,
});

/** The list document of a completed run of a workflow that started in minute `n`. */
export const workflowDocument = (
  n: number,
  given: Partial<WorkflowExecutionDocument> = {},
): WorkflowExecutionDocument => ({
  tenant: 'acme',
  id: runId(n),
  version: 1,
  workflow_id: 'b0000000-0000-4000-8000-000000000000',
  workflow_name: 'release',
  workflow_version: '2.0.0',
  status: 'completed',
  current_state: 'end',
  reason: null,
  error: null,
  started_at: time(n),
  last_transition_at: time(n + 1),
  ended_at: time(n + 1),
  removed: false,
  ...given,
});
