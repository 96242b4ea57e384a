import { z } from 'zod';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import { Notify } from '../../runtime/notify.ts';
import { type ChildCall, childFields, nameOrId, startChild } from './child-start.ts';

/** Input of the effect `workflow.start`. */
export const WorkflowStartInput = z.object({
  ...childFields,
  /** Name or UUID. */
  workflow: nameOrId,
  /** Default: the newest. */
  version: z.string().min(1).max(128).optional(),
  intent: z.string().optional(),
  /** Checked against the workflow's `input_schema` by whoever starts it. */
  input: z.json(),
  blackboard: z.record(z.string(), z.json()).optional(),
  /** Workflows above it, outermost first, for depth and cycles. */
  ancestors: z
    .array(z.object({ workflow_id: z.string(), name: z.string(), execution_id: z.string() }))
    .max(64)
    .default([]),
  /** Who is told, by a `WorkflowWord`; nobody for fire_and_forget. */
  notify: Notify.optional(),
});
export type WorkflowStartInput = z.output<typeof WorkflowStartInput>;

export interface WorkflowStarts {
  /**
   * Finds the workflow as the identity sees it and starts the execution, or finds it started by an earlier attempt with
   * the same `execution_id`. Throws `not_found`, `validation_failed`, `conflict`, and what a start throws.
   */
  start(request: WorkflowStartInput, call: ChildCall): Promise<{ readonly workflow_id: string; readonly name: string }>;
  /** Cancels an execution; `not_found` and `failed_precondition` mean that there is nothing to cancel. */
  cancel(tenant: string, executionId: string): Promise<void>;
}

/** `workflow.start` (repeatable): a child workflow; answers `{workflow_id, name}`. */
export function createWorkflowStart(starts: WorkflowStarts): EffectHandler<typeof WorkflowStartInput> {
  return defineEffect({
    kind: 'workflow.start',
    input: WorkflowStartInput,
    async run(input, context) {
      const { workflow_id, name } = await startChild(
        {
          executionId: input.execution_id,
          identity: input.identity,
          what: `workflow "${input.workflow}"`,
          start: () => starts.start(input, context),
          cancel: (tenant, executionId) => starts.cancel(tenant, executionId),
        },
        context,
      );
      return { workflow_id, name };
    },
  });
}
