import { z } from 'zod';
import {
  anyObject,
  count,
  executionId,
  jsonObject,
  limit,
  MAX_LISTED,
  MAX_LOG_EVENTS,
  nameOrUuid,
  offset,
  page,
  started,
  TEXT_CHARS,
  tenantId,
  time,
  version,
  workflowWait as wait,
  workflowStatus,
} from '../../../usecases/fields.ts';
import { RUN_OUTCOMES } from '../../../usecases/runs/run.ts';
import { changing, defineContract, reading, starting, toolArguments } from '../../contract/arguments.ts';

const identified = { execution_id: z.string(), workflow_id: z.string() };
const place = { status: workflowStatus, current_state: z.string().nullable() };
const standing = {
  ...place,
  outcome: z.enum(RUN_OUTCOMES).nullable(),
  error: z.strictObject({ code: z.string(), message: z.string(), cause: z.string().nullable() }).nullable(),
};
const times = { started_at: time, last_transition_at: time };

export const workflowRun = defineContract({
  ...starting,
  name: 'svc.workflow.run',
  description: 'Starts an execution of a deployed workflow and answers at once; wait for it with svc.workflow.wait.',
  input: toolArguments({
    name: nameOrUuid('the workflow'),
    intent: z.string().max(TEXT_CHARS).optional().describe('Goal of the run; templates read it as {{intent}}.'),
    input: jsonObject.default({}).describe('Checked against metadata.input_schema; {{input.KEY}}.'),
    blackboard: jsonObject.optional().describe('Initial values of the blackboard.'),
    version,
  }),
  result: started,
});

export const executionsList = defineContract({
  ...reading,
  name: 'svc.workflow.executions.list',
  description: 'Lists executions of workflows, newest first.',
  input: toolArguments({
    workflow_id: nameOrUuid('a workflow').optional(),
    limit: limit(20, MAX_LISTED),
    offset,
    tenant_id: tenantId,
  }),
  result: z.strictObject({
    executions: z.array(z.strictObject({ ...identified, ...standing, ...times, ended_at: time.nullable() })),
    ...page,
  }),
});

export const executionsGet = defineContract({
  ...reading,
  name: 'svc.workflow.executions.get',
  description: 'Shows an execution of a workflow with its input, its blackboard and the outputs of its states.',
  input: toolArguments({ execution_id: executionId, tenant_id: tenantId }),
  // The same fields as in GET /v1/workflows/executions/{id} (H21).
  result: z.strictObject({
    ...identified,
    workflow_name: z.string(),
    workflow_version: z.string(),
    ...standing,
    reason: z.string().nullable(),
    intent: z.string().nullable(),
    input: z.unknown(),
    blackboard: anyObject,
    state_outputs: anyObject,
    output: z.unknown(),
    ...times,
    ended_at: time.nullable(),
    waiting_for: anyObject.optional(),
    trace_id: z.string().optional(),
  }),
});

export const workflowStatusTool = defineContract({
  ...reading,
  name: 'svc.workflow.status',
  description: 'Says how an execution of a workflow stands.',
  input: toolArguments({ execution_id: executionId, tenant_id: tenantId }),
  result: z.strictObject({ ...identified, ...standing, ...times }),
});

export const workflowLogs = defineContract({
  ...reading,
  name: 'svc.workflow.logs',
  description: 'Shows the events of an execution of a workflow, oldest first.',
  input: toolArguments({ execution_id: executionId, limit: limit(50, MAX_LOG_EVENTS), offset }),
  result: z.strictObject({
    tool: z.literal('svc.workflow.logs'),
    execution_id: z.string(),
    status: workflowStatus,
    events: z.array(
      z.strictObject({
        sequence: count,
        event_type: z.string(),
        state_name: z.string().nullable(),
        iteration_number: count.nullable(),
        payload: anyObject,
        recorded_at: time,
      }),
    ),
    ...page,
  }),
});

/** The result of a change: done, or not done with the error. */
const doneOrNot = <Word extends string>(word: Word) =>
  z.union([
    z.strictObject({ [word]: z.literal(true), execution_id: z.string() }),
    z.strictObject({ [word]: z.literal(false), error: z.string() }),
  ]);

export const workflowCancel = defineContract({
  ...changing,
  name: 'svc.workflow.cancel',
  description: 'Cancels an execution of a workflow that has not ended, with its children.',
  input: toolArguments({ execution_id: executionId }),
  result: doneOrNot('cancelled'),
});

export const workflowWait = defineContract({
  ...reading,
  name: 'svc.workflow.wait',
  description: 'Waits until an execution of a workflow has ended; timed_out says that it goes on.',
  input: toolArguments({ execution_id: executionId, ...wait }),
  result: z.union([
    z.strictObject({ ...identified, ...standing, ...times, blackboard: anyObject }),
    z.strictObject({ execution_id: z.string(), ...place, timed_out: z.literal(true) }),
  ]),
});

export const workflowSignal = defineContract({
  ...changing,
  name: 'svc.workflow.signal',
  description: 'Answers the human approval that an execution of a workflow waits for.',
  input: toolArguments({
    execution_id: executionId,
    response: z.string().max(TEXT_CHARS).describe('Feedback that conditions and {{human.feedback}} read.'),
  }),
  result: doneOrNot('signalled'),
});

export const workflowRemove = defineContract({
  ...changing,
  name: 'svc.workflow.remove',
  description: 'Removes an execution of a workflow that has ended, with its record.',
  input: toolArguments({ execution_id: executionId }),
  result: doneOrNot('removed'),
});

export const WORKFLOW_RUN_CONTRACTS = [
  ...[workflowRun, executionsList, executionsGet, workflowStatusTool, workflowLogs, workflowCancel, workflowWait],
  ...[workflowSignal, workflowRemove],
] as const;
