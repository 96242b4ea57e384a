import { z } from 'zod';
import { RunLabels } from '../../../manifests/metadata.ts';
import { RUN_OUTCOMES } from '../../runs/run.ts';
import { LoggedEvent, logPage } from './catalog.ts';
import { AgentId, ForkedFromSchema, jsonObject, list, nextPageField, versionField } from './fields.ts';

/** A read-only list, since answers are never changed after they are made. */

const WaitingJudge = z
  .object({
    agent: z.string(),
    execution_id: z.string(),
    status: z.enum(['asked', 'judging']),
  })
  .meta({ id: 'WaitingJudge' });

const WaitingEffect = z
  .object({
    effect_id: z.string(),
    kind: z.string().describe('Such as model.generate.'),
    status: z
      .enum(['open', 'started', 'retrying', 'answered'])
      .describe(
        'open: no node has begun it; started: the attempt runs; retrying: the next begins at retry_at; answered: its result is about to be handled.',
      ),
    attempt: z.number().int(),
    runner: z.string().optional().describe('Node and its incarnation, NODE/UUID.'),
    retry_at: z.string().optional(),
    last_error: z
      .object({ code: z.string(), message: z.string() })
      .optional()
      .describe('Why the last attempt that failed did so.'),
    held_by: z
      .string()
      .optional()
      .describe('Why a started one makes no progress: a model or server that does not answer.'),
  })
  .meta({ id: 'WaitingEffect' });

const OwnWait = z
  .object({
    kind: z.enum(['node', 'timer', 'approval', 'child', 'judges', 'effect', 'volumes', 'turn']),
    reason: z.string().describe('For people, such as "waiting for a node with tags gpu".'),
    state_name: z.string().optional().describe('Of a workflow.'),
    tags: list(z.string()).optional().describe('Tags that no live node has.'),
    approval_id: z.string().optional(),
    child_execution_ids: list(z.string()).optional(),
    judges: list(WaitingJudge).optional().describe('Judges that have not answered.'),
    effects: list(WaitingEffect).optional(),
    until: z.string().optional().describe('Time at which a timer ends the wait.'),
  })
  .meta({ id: 'OwnWait' });

/** What an unfinished execution of an agent or workflow waits for. */
export const WaitReason = OwnWait.extend({
  child: OwnWait.optional().describe('Wait reason of the child that it waits for.'),
}).meta({ id: 'WaitReason' });

export const EXECUTION_STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const;

export const labelsField = RunLabels.optional().describe('At most 16 short texts by which lists of runs filter.');

/** The body of POST /v1/executions (H12), with the other fields of gRPC's ExecuteAgent. */
export const StartBody = z.strictObject({
  agent_id: AgentId,
  input: z.string().describe('Task input passed to the agent.'),
  version: versionField('agent'),
  context: jsonObject.optional().describe('Values for the prompt template.'),
  workflow_execution_id: z
    .guid('expected a UUID')
    .toLowerCase()
    .optional()
    .describe('Workflow execution that the run belongs to.'),
  labels: labelsField,
});

export const StartAnswer = z
  .object({
    execution_id: z.string(),
    waiting_for: WaitReason.optional().describe('Why it cannot begin yet: tags that no live node has.'),
  })
  .meta({ id: 'StartAnswer' });

/** The answer to a start with a goal and values: it is durable, and the run continues on its own. */
export const RunStarted = z
  .object({ execution_id: z.string(), status: z.literal('started') })
  .meta({ id: 'RunStarted' });

/** Why a run did not succeed. */
export const RunError = z
  .object({
    code: z.string().describe('Of the error table, such as model_refused.'),
    message: z.string().describe('One sentence with the cause.'),
    cause: z.string().nullable().describe('The error behind it, such as that of the last iteration; null for none.'),
  })
  .meta({ id: 'RunError' });

export const ExecutionStatus = z
  .object({
    execution_id: z.string(),
    agent_id: z.string(),
    status: z.enum(EXECUTION_STATUSES),
    iteration_count: z.number().int(),
    last_output: z.string().nullable(),
    last_error: z.string().nullable(),
    outcome: z.enum(RUN_OUTCOMES).nullable().describe('How it ended; null while it is unfinished.'),
    error: RunError.optional().describe(
      'Why it did not succeed; absent while it is unfinished, and when it succeeded.',
    ),
    started_at: z.string().nullable(),
    ended_at: z.string().nullable(),
    usage: z.object({ input_tokens: z.number(), output_tokens: z.number(), cost: z.number() }),
    in_doubt: z
      .number()
      .int()
      .optional()
      .describe('Number of times a program ran again because it was unknown whether it had acted; absent when zero.'),
    tool_calls_executed: z.number().int().optional().describe('Number of tool calls that ran; absent when none did.'),
    calls_in_doubt: z
      .array(z.object({ tool: z.string(), call: z.string(), iteration: z.number().int(), round: z.number().int() }))
      .optional()
      .describe('Tool calls that may have acted when their node failed, and were not repeated.'),
    workflow_execution_id: z.string().optional().describe('Workflow execution that it belongs to; absent for none.'),
    trace_id: z.string().optional().describe('Trace of its start: /v1/traces/{trace_id}.'),
    forked_from: ForkedFromSchema.optional().describe('The run that it was forked from.'),
    waiting_for: WaitReason.optional().describe(
      'What an unfinished one waits for; in lists only while no live node may serve it.',
    ),
  })
  .meta({ id: 'ExecutionStatus' });

export const ExecutionList = z.object({ executions: z.array(ExecutionStatus), ...nextPageField });

export const ExecutionLog = z.object({
  execution_id: z.string(),
  status: z.enum(EXECUTION_STATUSES),
  events: z.array(LoggedEvent),
  ...logPage,
});

export const CancelAnswer = z
  .object({ execution_id: z.string(), cancelled: z.literal(true) })
  .meta({ id: 'ExecutionCancelled' });

export const RemoveAnswer = z
  .object({ execution_id: z.string(), removed: z.literal(true) })
  .meta({ id: 'ExecutionRemoved' });
