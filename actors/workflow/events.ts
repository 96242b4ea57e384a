import { z } from 'zod';
import type { ActorEvent } from '../../runtime/client.ts';
import { asJsonObject, type JsonObject, jsonField, jsonObjectField } from '../../runtime/json.ts';

/** Events of a workflow execution (W21). Each has its own field for its time. */
const run = { execution_id: z.string() };

const inState = { ...run, state_name: z.string() };

const count = z.number().int().min(0);

/** Result of one transition when its state ended. */
const TriedTransition = z.object({
  target: z.string(),
  condition: z.string(),
  /** The test of the condition, with the values of the manifest; the expression of `custom`. Cut when long. */
  test: z.string(),
  /** `not_tried`: an earlier one was taken, or the run ends in this state. */
  result: z.enum(['taken', 'no_match', 'not_tried']),
  /**
   * The values that the test read: a path, and the value there as JSON; `missing`, or the size of a list or a map. Cut when
   * long.
   */
  saw: z.array(z.object({ path: z.string(), value: z.string() })),
  /** Why the expression could not be evaluated. */
  error: z.string().optional(),
});

export type TriedTransition = z.output<typeof TriedTransition>;

const stepName = { step_name: z.string().nullable() };

export const workflowEvents = {
  WorkflowExecutionStarted: z.object({
    ...run,
    workflow_id: z.string(),
    workflow_name: z.string(),
    workflow_version: z.string(),
    started_at: z.string(),
  }),
  /** In runs of svc.execute.intent: the second event, and the last but one. Long texts are cut. */
  IntentExecutionPipelineStarted: z.object({
    ...run,
    intent: z.string(),
    language: z.string(),
    workspace_volume_id: z.string().nullable(),
    started_at: z.string(),
  }),
  IntentExecutionPipelineCompleted: z.object({
    ...run,
    final_result: z.string(),
    duration_ms: z.number(),
    reused_existing_agent: z.boolean(),
    agent_similarity_score: z.number().optional(),
    completed_at: z.string(),
  }),
  IntentExecutionPipelineFailed: z.object({
    ...run,
    failed_at_state: z.string().nullable(),
    reason: z.string(),
    failed_at: z.string(),
  }),
  WorkflowStateEntered: z.object({ ...inState, kind: z.string(), visit: count, entered_at: z.string() }),
  /** `next_state` is null when the run ends here; `condition` is the one that matched. */
  WorkflowStateExited: z.object({
    ...inState,
    status: z.enum(['success', 'failed']),
    /** The state's entry on the blackboard; cut when large. */
    output: jsonField,
    next_state: z.string().nullable(),
    condition: z.string().nullable(),
    /** All transitions of the state in the order of the manifest; absent in runs of earlier versions. */
    transitions: z.array(TriedTransition).optional(),
    exited_at: z.string(),
  }),
  /**
   * A template or an expression of a state could not be rendered. A step with such a template fails, feedback is replaced by
   * the error, and an expression does not match.
   */
  WorkflowTemplateFailed: z.object({
    ...inState,
    what: z.enum(['step', 'expression', 'feedback']),
    /** Number of the transition, from 0; null for the step. */
    transition: count.nullable(),
    code: z.string(),
    error: z.string(),
    failed_at: z.string(),
  }),
  /** A step whose outcome was in doubt after a crash is run again. */
  WorkflowStepRepeated: z.object({
    ...inState,
    repeat: count,
    by: z.enum(['policy', 'human']),
    repeated_at: z.string(),
  }),
  WorkflowHumanInputRequested: z.object({
    ...inState,
    approval_id: z.string(),
    prompt: z.string(),
    requested_at: z.string(),
  }),
  WorkflowHumanInputReceived: z.object({
    ...inState,
    approval_id: z.string(),
    /** `answered`, or `expired` with the default response. */
    how: z.enum(['answered', 'expired']),
    payload: z.string(),
    received_at: z.string(),
  }),
  ContainerRunStarted: z.object({
    ...inState,
    ...stepName,
    image: z.string(),
    command: z.array(z.string()),
    attempt: count,
    started_at: z.string(),
  }),
  ContainerRunCompleted: z.object({
    ...inState,
    ...stepName,
    exit_code: z.number().int(),
    stdout_bytes: count,
    stderr_bytes: count,
    duration_ms: z.number(),
    attempt: count,
    completed_at: z.string(),
  }),
  ContainerRunFailed: z.object({
    ...inState,
    ...stepName,
    reason: z.string(),
    attempt: count,
    /** Start of the next attempt; null when there is none. */
    retry_at: z.string().nullable(),
    failed_at: z.string(),
  }),
  ParallelContainerRunAggregated: z.object({
    ...inState,
    total_steps: count,
    succeeded: count,
    failed: count,
    strategy: z.string(),
    aggregated_at: z.string(),
  }),
  SubworkflowTriggered: z.object({
    parent_execution_id: z.string(),
    child_execution_id: z.string(),
    child_workflow_id: z.string(),
    mode: z.enum(['blocking', 'fire_and_forget']),
    parent_state_name: z.string(),
    triggered_at: z.string(),
  }),
  SubworkflowCompleted: z.object({
    parent_execution_id: z.string(),
    child_execution_id: z.string(),
    parent_state_name: z.string(),
    result_key: z.string().nullable(),
    completed_at: z.string(),
  }),
  SubworkflowFailed: z.object({
    parent_execution_id: z.string(),
    child_execution_id: z.string(),
    parent_state_name: z.string(),
    reason: z.string(),
    failed_at: z.string(),
  }),
  WorkflowExecutionCompleted: z.object({
    ...run,
    final_blackboard: jsonObjectField,
    output: jsonField,
    completed_at: z.string(),
  }),
  WorkflowExecutionFailed: z.object({
    ...run,
    /** Code: `no_transition_matched`, `max_transitions_exceeded`, or the code of the state's error. */
    reason: z.string(),
    error: z.string(),
    state_name: z.string().nullable(),
    failed_at: z.string(),
  }),
  WorkflowExecutionCancelled: z.object({ ...run, reason: z.string().nullable(), cancelled_at: z.string() }),
} as const;

/** One entry of svc.workflow.logs (W35). */
export interface WorkflowLogEvent {
  readonly sequence: number;
  readonly event_type: string;
  readonly state_name: string | null;
  /** Null: the logs of the agents' executions have the iterations. */
  readonly iteration_number: number | null;
  readonly payload: JsonObject;
  /** ISO 8601. */
  readonly recorded_at: string;
}

/** The stream as a log, in the same order and with the same numbers. */
export function workflowLogEvents(events: readonly ActorEvent[]): WorkflowLogEvent[] {
  return events.map(({ seq, at, name, payload }) => {
    const shown = asJsonObject(payload);
    const state = shown.state_name ?? shown.parent_state_name;
    return {
      sequence: seq,
      event_type: name,
      state_name: typeof state === 'string' ? state : null,
      iteration_number: null,
      payload: shown,
      recorded_at: new Date(at).toISOString(),
    };
  });
}
