import { z } from 'zod';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { Identity } from '../../runtime/identity.ts';
import { Notify } from '../../runtime/message.ts';

/** Fields of both starts. */
const childFields = {
  /** Created by the parent's turn, so that a repeated start finds its child. */
  execution_id: z.uuid(),
  /** The identity it runs as, of the parent's tenant. */
  identity: Identity,
};

const nameOrId = z.string().min(1).max(256);

/** The part of the effect's context that a start may use. */
type ChildCall = Pick<EffectContext, 'signal' | 'trace'>;

interface ChildStart<Started> {
  readonly executionId: string;
  readonly identity: Identity;
  /** For errors: `agent "judge"`. */
  readonly what: string;
  start(): Promise<Started>;
  cancel(tenant: string, executionId: string): Promise<void>;
}

/**
 * Starts a child for its parent. Cancels the child if the parent has cancelled the effect meanwhile. If only the node stops
 * or has lost its claim, the child continues, and the next attempt finds it by its id. Throws `forbidden` for an identity of
 * another tenant, `not_found` naming what is not deployed, `validation_failed` with each violation, else what `start` throws.
 */
async function startChild<Started>(child: ChildStart<Started>, context: EffectContext): Promise<Started> {
  const { tenant, signal } = context;
  if (child.identity.tenant !== tenant) throw new SvcError('forbidden', 'a child runs in the tenant of its parent');
  signal.throwIfAborted();
  const sent = child.start();
  try {
    return await sent;
  } catch (thrown) {
    throw explained(toSvcError(thrown), child.what);
  } finally {
    if (isCancelled(signal)) await cancelChild(child, tenant);
  }
}

/** Only a cancel of the effect has this code (EffectContext.signal). */
function isCancelled({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof SvcError && reason.code === 'cancelled';
}

/** Ignores a child that never started or has ended. */
async function cancelChild<Started>({ cancel, executionId }: ChildStart<Started>, tenant: string): Promise<void> {
  try {
    await cancel(tenant, executionId);
  } catch (thrown) {
    const { code } = toSvcError(thrown);
    if (code !== 'not_found' && code !== 'failed_precondition') throw thrown;
  }
}

/** Puts the details into the text, since the parent gets only code and text. */
function explained(error: SvcError, what: string): SvcError {
  const { code, message, details = [] } = error;
  // A field of the manifest names something else than the child, such as a volume.
  const isOfManifest = error.field?.startsWith('spec.') === true;
  if (code === 'not_found' && !isOfManifest)
    return new SvcError(code, `${what} is not deployed in this tenant`, { cause: error });
  if (code !== 'validation_failed') return error;
  const violations = details.slice(0, 10).map((detail) => `${detail.path ?? 'input'}: ${detail.message}`);
  // The message may name the first of them already.
  const others = violations.filter((violation) => !message.includes(violation));
  const text = [`${what}: ${message.replace(/\.$/, '')}`, ...others].join('; ');
  return new SvcError(code, text, { details, cause: error });
}

/** Input of the effect `agent.start`. */
export const AgentStartInput = z.object({
  ...childFields,
  /** Name or UUID; the newest version runs. */
  agent: nameOrId,
  /** The rendered task. */
  input: z.string(),
  /** Template variables of the prompt. */
  context: z.record(z.string(), z.json()).optional(),
  /** Default `inherit`: that of the agent's manifest and the node. */
  isolation: z.enum(['inherit', 'firecracker', 'docker', 'process']).optional(),
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
  /** Limits the execution to one iteration, for judges (W27). */
  one_shot: z.boolean().default(false),
  workflow_execution_id: z.string().min(1).max(128).optional(),
  /** Number of executions above it; a judge's is one more than that of the judged execution (W27). Default 0. */
  depth: z.number().int().min(0).max(100).optional(),
  /** Receives the status updates of the execution. */
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

/** Input of the effect `workflow.start`. */
export const WorkflowStartInput = z.object({
  ...childFields,
  /** Name or UUID. */
  workflow: nameOrId,
  /** Default: the newest. */
  version: z.string().min(1).max(128).optional(),
  intent: z.string().optional(),
  /** Validated by the start against the workflow's `input_schema`. */
  input: z.json(),
  blackboard: z.record(z.string(), z.json()).optional(),
  /** Workflows above it, outermost first, for depth and cycles. */
  ancestors: z
    .array(z.object({ workflow_id: z.string(), name: z.string(), execution_id: z.string() }))
    .max(64)
    .default([]),
  /** Receives the status updates of the workflow; absent for fire_and_forget. */
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
