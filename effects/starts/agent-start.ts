import { z } from 'zod';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import { Notify } from '../../runtime/notify.ts';
import { type ChildCall, childFields, nameOrId, startChild } from './child-start.ts';

/** Input of the effect `agent.start`. */
export const AgentStartInput = z.object({
  ...childFields,
  /** Name or UUID; the newest version runs. */
  agent: nameOrId,
  /** Rendered task input. */
  input: z.string(),
  /** Template variables of the prompt. */
  context: z.record(z.string(), z.json()).optional(),
  /** Default `inherit`: what the agent's manifest and the node say. */
  isolation: z.enum(['inherit', 'firecracker', 'docker', 'process']).optional(),
  /** Volumes that the execution finds at these paths. */
  mounts: z
    .array(
      z.object({
        volume_id: z.string().min(1).max(128),
        mount_path: z.string().startsWith('/').max(4_096),
        access_mode: z.enum(['read-write', 'read-only']),
      }),
    )
    .max(50)
    .optional(),
  /** One iteration, whatever the manifest says: judges are asked once (original-facts 6.2). */
  one_shot: z.boolean().default(false),
  workflow_execution_id: z.string().min(1).max(128).optional(),
  /** How many executions are above it: a judge's is one more than of whom it judges (original-facts 6.2). Default 0. */
  depth: z.number().int().min(0).max(100).optional(),
  /** Who is told, by an `ExecutionWord`, that it has started and that it has ended. */
  notify: Notify,
});
export type AgentStartInput = z.output<typeof AgentStartInput>;

export interface AgentStarts {
  /**
   * Finds the agent in the identity's tenant and starts the execution, or finds it started by an earlier attempt with
   * the same `execution_id`. Throws `not_found`, `validation_failed`, `conflict`, and what a start throws.
   */
  start(request: AgentStartInput, call: ChildCall): Promise<{ readonly agent_id: string }>;
  /** Cancels an execution; `not_found` and `failed_precondition` mean that there is nothing to cancel. */
  cancel(tenant: string, executionId: string): Promise<void>;
}

/** `agent.start` (repeatable): a child execution of a deployed agent; answers `{agent_id}`, its UUID. */
export function createAgentStart(starts: AgentStarts): EffectHandler<typeof AgentStartInput> {
  return defineEffect({
    kind: 'agent.start',
    input: AgentStartInput,
    async run(input, context) {
      const { agent_id } = await startChild(
        {
          executionId: input.execution_id,
          identity: input.identity,
          what: `agent "${input.agent}"`,
          start: () => starts.start(input, context),
          cancel: (tenant, executionId) => starts.cancel(tenant, executionId),
        },
        context,
      );
      return { agent_id };
    },
  });
}
