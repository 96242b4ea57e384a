import { z } from 'zod';
import { RUN_OUTCOMES } from '../../runs/run.ts';
import { WORKFLOW_STATUSES } from '../../workflow-status.ts';
import { CATALOG_STATUSES, LoggedEvent, logPage, ScopeAnswer as MovedAnswer, SCOPES } from './catalog.ts';
import { labelsField, RunError, WaitReason } from './executions.ts';
import { anyJson, ExecutionId, ForkedFromSchema, jsonObject, list, nextPageField, versionField } from './fields.ts';

/** A read-only list, since answers are never changed after they are made. */
const anyObject = z.record(z.string(), z.unknown());

/** Name or UUID of a workflow in a path. `executions` and `validate` in this place are routes of their own. */
export const WorkflowParams = z.object({
  name: z
    .string()
    .min(1)
    .max(256)
    .describe('Name or UUID; a name is looked up in the scopes user, tenant, global, in this order.'),
});
export const WorkflowExecutionParams = z.object({ id: ExecutionId });

export const WorkflowSummary = z
  .object({
    id: z.string().describe('Workflow UUID; all versions of a name in a scope share it.'),
    name: z.string(),
    version: z.string(),
    initial_state: z.string(),
    scope: z.enum(SCOPES),
    owner: z.string().nullable().describe('Subject, for scope user.'),
    status: z.enum(CATALOG_STATUSES),
    description: z.string(),
    labels: z.record(z.string(), z.string()),
    deployed_at: z.string(),
  })
  .meta({ id: 'Workflow' });
export const WorkflowList = z.object({ workflows: z.array(WorkflowSummary), ...nextPageField });
export const WorkflowVersions = z.object({ versions: z.array(WorkflowSummary) });

export const DeployedWorkflow = WorkflowSummary.extend({
  manifest: z.unknown().describe('The manifest, checked and with its defaults.'),
  manifest_yaml: z.string().describe('The manifest as deployed.'),
}).meta({ id: 'DeployedWorkflow' });

export const Finding = z
  .object({
    rule: z.string().describe('Stable id of the rule, such as unreachable_state.'),
    severity: z.enum(['error', 'warning']),
    path: z.string(),
    line: z.number().int(),
    column: z.number().int(),
    message: z.string(),
    cure: z.string().describe('Suggested correction.'),
  })
  .meta({ id: 'Finding' });

export const DeployAnswer = z.object({
  workflow_id: z.string(),
  deployed: z.literal(true),
  warnings: list(Finding).describe('Findings of the checker that do not prevent the deploy.'),
});

export const ValidateAnswer = z.object({
  valid: z.boolean(),
  findings: list(Finding),
  metadata: z
    .object({ name: z.string(), version: z.string(), initial_state: z.string() })
    .optional()
    .describe('When the text is a manifest.'),
});

export const ScopeAnswer = MovedAnswer.extend({ workflow_id: z.string() });

export const RunBody = z.strictObject({
  intent: z.string().max(65_536).optional().describe('Goal of the run; templates read it as {{intent}}.'),
  input: anyJson
    .default({})
    .describe('Checked against metadata.input_schema, where it must be an object; {{input.KEY}}.'),
  blackboard: jsonObject.optional().describe('Initial values of the blackboard.'),
  labels: labelsField,
  version: versionField('workflow'),
});

const ExecutionSummary = z.object({
  execution_id: z.string(),
  workflow_id: z.string(),
  workflow_name: z.string(),
  workflow_version: z.string(),
  status: z.enum(WORKFLOW_STATUSES),
  current_state: z.string().nullable(),
  reason: z.string().nullable().describe('Code of a failure, or why it was cancelled.'),
  outcome: z
    .enum(RUN_OUTCOMES)
    .nullable()
    .describe('Null while it is unfinished; failed for a completed run whose last state failed.'),
  error: RunError.nullable().describe('Why it did not succeed; null when it did, and while it is unfinished.'),
  started_at: z.string(),
  last_transition_at: z.string(),
  ended_at: z.string().nullable(),
  trace_id: z.string().optional().describe('Trace of its start: /v1/traces/{trace_id}.'),
  forked_from: ForkedFromSchema.optional().describe('The run that it was forked from.'),
});
export const WorkflowExecutionList = z.object({
  executions: z.array(ExecutionSummary),
  total: z.number().int(),
  limit: z.number().int(),
  offset: z.number().int(),
  ...nextPageField,
});

/** The result of svc.workflow.executions.get (W35), with what the run waits for. */
export const WorkflowExecution = ExecutionSummary.extend({
  intent: z.string().nullable(),
  input: z.unknown(),
  blackboard: anyObject,
  state_outputs: anyObject,
  output: z.unknown(),
  waiting_for: WaitReason.optional().describe('Why an unfinished one waits.'),
}).meta({ id: 'WorkflowExecutionStatus' });

export const WorkflowLog = z.object({
  execution_id: z.string(),
  status: z.enum(WORKFLOW_STATUSES),
  events: z.array(
    LoggedEvent.extend({ state_name: z.string().nullable(), iteration_number: z.number().int().nullable() }),
  ),
  ...logPage,
});

export const SignalBody = z.strictObject({
  response: z.string().max(65_536).describe('Feedback that conditions and {{human.feedback}} read.'),
});
export const SignalAnswer = z.object({ signalled: z.literal(true), execution_id: z.string() });
