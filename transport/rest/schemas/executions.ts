import { z } from 'zod';
import { AgentId, jsonObject, nextPageField } from './fields.ts';
import { LoggedEvent, logPage } from './logs.ts';
import { WaitReason } from './wait-reason.ts';

export const EXECUTION_STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const;

/** Body of POST /v1/executions (spec 2), with what gRPC's ExecuteAgent takes besides. */
export const StartBody = z.object({
  agent_id: AgentId,
  input: z.string().describe('Task input passed to the agent.'),
  version: z.string().min(1).max(64).optional().describe('Version of the agent; default the newest.'),
  context: jsonObject.optional().describe('Values for the prompt template.'),
});

export const StartAnswer = z.object({
  execution_id: z.string(),
  waiting_for: WaitReason.optional().describe('What no live node has, so that it cannot begin yet.'),
});

export const ExecutionStatus = z.object({
  execution_id: z.string(),
  agent_id: z.string(),
  status: z.enum(EXECUTION_STATUSES),
  iteration_count: z.number().int(),
  last_output: z.string().nullable(),
  last_error: z.string().nullable(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  usage: z.object({ input_tokens: z.number(), output_tokens: z.number(), cost: z.number() }),
  in_doubt: z
    .number()
    .int()
    .optional()
    .describe('How often a program ran again because nobody knew whether it had acted; absent when never.'),
  tool_calls_executed: z.number().int().optional().describe('Tool calls that really ran; absent when none did.'),
  calls_in_doubt: z
    .array(z.object({ tool: z.string(), call: z.string(), iteration: z.number().int(), round: z.number().int() }))
    .optional()
    .describe('Tool calls that may have acted when their node failed, and were not repeated.'),
  waiting_for: WaitReason.optional().describe(
    'What an unfinished one waits for; in lists only while no live node may serve it.',
  ),
});

export const ExecutionList = z.object({ executions: z.array(ExecutionStatus), ...nextPageField });

export const ExecutionLog = z.object({
  execution_id: z.string(),
  status: z.enum(EXECUTION_STATUSES),
  events: z.array(LoggedEvent),
  ...logPage,
});

/** One server-sent event, field by field. */
export const StreamedEvent = z.looseObject({
  id: z.string().describe('Number of the event: 1, 2, 3 …'),
  data: z.string().describe('A JSON object whose one key names the event and whose value holds its fields.'),
});

export const CancelAnswer = z.object({ execution_id: z.string(), cancelled: z.literal(true) });
export const RemoveAnswer = z.object({ execution_id: z.string(), removed: z.literal(true) });
