import { z } from 'zod';
import {
  anyObject,
  count,
  executionId,
  executionStatus,
  jsonObject,
  limit,
  MAX_LISTED,
  MAX_LOG_EVENTS,
  nameOrUuid,
  offset,
  page,
  started,
  TEXT_CHARS,
  time,
  version,
  taskWait as wait,
} from '../../../usecases/fields.ts';
import { changing, defineContract, reading, starting, toolArguments } from '../../contract/arguments.ts';

/** The same fields as in GET /v1/executions/{id} (H21). */
const taskStanding = {
  execution_id: z.string(),
  agent_id: z.string(),
  iteration_count: count,
  last_output: z.string().nullable(),
  last_error: z.string().nullable(),
  outcome: z.enum(['succeeded', 'failed', 'cancelled']).nullable(),
  error: z.strictObject({ code: z.string(), message: z.string(), cause: z.string().nullable() }).optional(),
  workflow_execution_id: z.string().optional(),
  started_at: time.nullable(),
  ended_at: time.nullable(),
  usage: z.strictObject({ input_tokens: z.number(), output_tokens: z.number(), cost: z.number() }),
  in_doubt: count.optional(),
  tool_calls_executed: count.optional(),
  calls_in_doubt: z.array(anyObject).optional(),
  waiting_for: anyObject.optional(),
  trace_id: z.string().optional(),
};

export const taskExecute = defineContract({
  ...starting,
  name: 'svc.task.execute',
  description: 'Starts an execution of a deployed agent and answers at once; wait for it with svc.task.wait.',
  input: toolArguments({
    agent_id: nameOrUuid('the agent'),
    intent: z.string().max(TEXT_CHARS).optional().describe('Task in plain words.'),
    input: jsonObject.default({}).describe('Values for the agent.'),
    version,
  }),
  result: started,
});

export const taskStatus = defineContract({
  ...reading,
  name: 'svc.task.status',
  description: 'Says how an execution of an agent stands: status, iterations, last output, last error.',
  input: toolArguments({ execution_id: executionId }),
  result: z.strictObject({ ...taskStanding, status: executionStatus }),
});

/** The status of an ended execution, or `timed_out` for one that still runs. */
const waited = z.strictObject({ ...taskStanding, status: z.enum(['completed', 'failed', 'cancelled', 'timed_out']) });

export const taskWait = defineContract({
  ...reading,
  name: 'svc.task.wait',
  description: 'Waits until an execution of an agent has ended; status timed_out says that it goes on.',
  input: toolArguments({ execution_id: executionId, ...wait }),
  result: waited,
});

/** The same tool under the name for agents (W34). */
export const agentWait = defineContract({
  ...taskWait,
  name: 'svc.agent.wait',
});

export const taskList = defineContract({
  ...reading,
  name: 'svc.task.list',
  description: 'Lists executions of agents, newest first.',
  input: toolArguments({ agent_id: nameOrUuid('an agent').optional(), limit: limit(20, MAX_LISTED) }),
  result: z.strictObject({
    executions: z.array(
      z.strictObject({ id: z.string(), agent_id: z.string(), status: executionStatus, started_at: time.nullable() }),
    ),
  }),
});

export const taskLogs = defineContract({
  ...reading,
  name: 'svc.task.logs',
  description: 'Shows the events of an execution of an agent, oldest first.',
  input: toolArguments({ execution_id: executionId, limit: limit(50, MAX_LOG_EVENTS), offset }),
  result: z.strictObject({
    tool: z.literal('svc.task.logs'),
    execution_id: z.string(),
    status: executionStatus,
    events: z.array(z.strictObject({ sequence: count, event_type: z.string(), payload: anyObject, recorded_at: time })),
    ...page,
  }),
});

export const taskCancel = defineContract({
  ...changing,
  name: 'svc.task.cancel',
  description: 'Cancels an execution of an agent that has not ended.',
  input: toolArguments({ execution_id: executionId }),
  result: z.strictObject({ execution_id: z.string(), cancelled: z.literal(true) }),
});

export const taskRemove = defineContract({
  ...changing,
  name: 'svc.task.remove',
  description: 'Removes an execution of an agent that has ended, with its record.',
  input: toolArguments({ execution_id: executionId }),
  result: z.strictObject({ execution_id: z.string(), removed: z.literal(true) }),
});

export const TASK_CONTRACTS = [
  ...[taskExecute, taskStatus, taskWait, taskList, taskLogs, taskCancel, taskRemove],
] as const;
