import { z } from 'zod';
import type { AgentManifest } from '../../manifests/agent/schema.ts';
import { RunLabels } from '../../manifests/metadata.ts';
import type { Address } from '../../runtime/address.ts';
import type { Turn } from '../../runtime/define-actor.ts';
import { EffectProgress, EffectResult } from '../../runtime/effect.ts';
import type { Identity } from '../../runtime/identity.ts';
import { type JsonObject, jsonField, jsonObjectField } from '../../runtime/json.ts';
import { Notify } from '../../runtime/message.ts';
import { ForkedWork } from '../../runtime/recording/forked-work.ts';
import { PanelConcluded } from '../judge-panel/messages.ts';
import { RUN_RULES } from '../run-rules.ts';
import type { executionEvents } from './events.ts';
import { Said } from './inner-loop/state.ts';
import { type Mount, Mounts, SecurityPolicy } from './plan.ts';
import type { ExecutionState, IdleExecution } from './state.ts';
import type { ExecutionUpdate } from './update.ts';

/**
 * The parts of a manifest that plans are made of, checked in shape only: the catalog validated the whole manifest at
 * deployment.
 */
const manifestShape = z.object({
  metadata: z.object({ name: z.string(), version: z.string(), annotations: z.record(z.string(), z.string()) }),
  spec: z.object({
    runtime: z.object({ isolation: z.string(), model: z.string() }),
    task: z.object({}),
    context: z.array(z.unknown()),
    execution: z.object({ validation: z.array(z.unknown()), iteration_timeout_ms: z.number() }),
    security: z.object({ resources: z.object({ timeout_ms: z.number() }) }),
    env: z.record(z.string(), z.string()),
    advanced: z.object({}),
  }),
});

const id = z.string().min(1).max(128);

/**
 * Starts an execution; only this message and `Fork` create one. Starting again under the same id gets the same answer and
 * starts nothing.
 */
export const Start = z.object({
  execution_id: id,
  agent_id: id,
  /** Normalised manifest of the agent, as the catalog stores it. */
  manifest: z.custom<AgentManifest>(
    (value) => manifestShape.safeParse(value).success,
    'expected a normalised agent manifest',
  ),
  input: z.string(),
  /** Caller's context_json. */
  context: z.record(z.string(), jsonField).optional(),
  security_policy: SecurityPolicy.optional(),
  workflow_execution_id: id.optional(),
  labels: RunLabels.optional(),
  mounts: Mounts.optional(),
  /** The actor that gets an `ExecutionUpdate` when the execution starts and when it ends. */
  notify: Notify.optional(),
  /** Number of executions above it: 0 unless it is a judge (W27). */
  depth: z.number().int().min(0).max(100).optional(),
  /** Set when no member of the fleet has its tags, so that a registered worker outside of the fleet runs it (P4). */
  forward: z.object({ tags: z.array(z.string().max(256)).min(1).max(100) }).optional(),
  /** Whether verdicts of its judges are read inside prose; absent in starts of earlier versions. */
  in_prose: z.boolean().optional(),
  /** `RUN_RULES` of the sender; absent in starts of earlier versions. */
  rules: z.number().int().optional(),
  /** Hash of the request that a controller forwarded, so that a different request under the same id is detected. */
  request_hash: z.string().max(128).optional(),
});

export type Start = z.output<typeof Start>;

/**
 * Creates a fork of another execution, instead of `Start`: it continues from the state in the message. The fields of a start
 * are the values with which it continues.
 */
export const Fork = Start.extend({
  work: ForkedWork,
  /** The parts that differ from the original. Open requests that depend on them are repeated with the new values. */
  changed: z.array(z.enum(['input', 'manifest'])).max(2),
});

export type Fork = z.output<typeof Fork>;

const GenerateMessage = z.object({
  agent_id: id,
  iteration_number: z.number().int(),
  /** Empty: the alias in the manifest. */
  model_alias: z.string().max(200),
  /** Empty, and no messages: the prompt of the iteration. */
  prompt: z.string(),
  messages: z.array(Said).max(1_000),
});

export type Generate = z.output<typeof GenerateMessage>;

const DispatchEndedMessage = z.object({
  dispatch_id: id,
  exit_code: z.number().int(),
  /** Only the end of each text when the whole result is stored. */
  stdout: z.string(),
  stderr: z.string(),
  duration_ms: z.number().nonnegative(),
  truncated: z.boolean(),
  /** A large result: the beginning of its text, and the blob with the whole `{content, structured}`. */
  stored: z.object({ ref: z.string(), bytes: z.number().int(), head: z.string() }).optional(),
});

export type DispatchEnded = z.output<typeof DispatchEndedMessage>;

const AttestMessage = z.object({ session_id: id, agent_id: id, container_id: id });

export type Attest = z.output<typeof AttestMessage>;

/** Messages of an execution. `AWAITED` in phase.ts defines where each is awaited; late and repeated ones change nothing. */
export const executionMessages = {
  Start,
  Fork,
  Cancel: z.object({ reason: z.string().max(1_000).optional() }),
  /** Timer of one iteration. */
  IterationTimedOut: z.object({ iteration: z.number().int() }),
  /** Timer of the whole execution. */
  ExecutionTimedOut: z.object({}),
  ModelAnswered: EffectResult,
  ModelChunk: EffectProgress,
  ProgramEnded: EffectResult,
  ProgramChunk: EffectProgress,
  /** An event of the worker to which the run was forwarded. */
  WorkerSaid: EffectProgress,
  /** That worker's stream has ended, or the worker was lost. */
  WorkerEnded: EffectResult,
  /** A judge panel has ended. The name is stored in requests (`notify.as`), so it stays. */
  PanelWord: PanelConcluded,
  /** Answer of a model that was asked to judge. */
  ModelJudged: EffectResult,
  /** Files that a validator checks were read, or could not be. */
  FilesRead: EffectResult,
  /** The script of a validator has ended, or could not be run. */
  ScriptEnded: EffectResult,
  /** Files and URLs of `spec.context` were read, or could not be. */
  ContextRead: EffectResult,
  /** The grant of the execution's tools. */
  ToolsGranted: EffectResult,
  /** A tool call of the inner loop has ended. */
  ToolEnded: EffectResult,
  /** Learned patterns were found or stored, or could not be. */
  MemoryAnswered: EffectResult,
  /** Timer of that wait. */
  MemoryTimedOut: z.object({ effect_id: z.string() }),
  /** Sent by a bootstrap over the dispatch gateway; the answers are read from the state. */
  Generate: GenerateMessage,
  DispatchEnded: DispatchEndedMessage,
  /** Sent for an agent that attests itself. */
  Attest: AttestMessage,
} as const;

export type ExecutionTurn = Turn<typeof executionEvents, typeof executionMessages>;

export interface StartExecution {
  /** UUID; made by the transport, so that a retried call starts one execution. */
  readonly executionId: string;
  readonly agentId: string;
  readonly manifest: AgentManifest;
  readonly input: string;
  /** Caller's `context_json`. */
  readonly context?: JsonObject;
  /** gRPC SecurityPolicy as JSON (snake_case). It narrows the manifest's security. */
  readonly securityPolicy?: JsonObject;
  readonly workflowExecutionId?: string;
  /** Lists filter by these. */
  readonly labels?: RunLabels;
  /** Volumes of the workflow, and their paths in the execution. */
  readonly mounts?: readonly Mount[];
  /** Set by parents only, never from a caller's request. */
  readonly notify?: Notify;
  /** Set by parents: number of executions above it. Default 0. */
  readonly depth?: number;
  readonly identity: Identity;
  /** Start on the node that receives the request (G29, P4). */
  readonly here?: boolean;
  /** Hash of the request; stored in the execution. */
  readonly requestHash?: string;
  /** A registered worker outside of the fleet runs it: no member has these tags. */
  readonly forward?: { readonly tags: readonly string[] };
  /** Start as a fork of another execution. */
  readonly fork?: Pick<Fork, 'work' | 'changed'>;
}

/** Payload of the message Start. It is not copied: it is serialised at once, which drops undefined members. */
export function startPayload(request: StartExecution): JsonObject {
  return jsonObjectField.parse({
    execution_id: request.executionId,
    agent_id: request.agentId,
    manifest: request.manifest,
    input: request.input,
    context: request.context,
    security_policy: request.securityPolicy,
    workflow_execution_id: request.workflowExecutionId,
    labels: request.labels,
    mounts: request.mounts,
    notify: request.notify,
    depth: request.depth,
    forward: request.forward,
    request_hash: request.requestHash,
    in_prose: true,
    rules: RUN_RULES,
    ...request.fork,
  });
}

type Change = Pick<ExecutionUpdate, 'status' | 'output' | 'reason' | 'score'>;

/** Sends an update to the actor that the start named in `notify`, if any. */
export function notifyParent(execution: IdleExecution, change: Change, turn: ExecutionTurn): void {
  const { notify } = execution;
  if (notify === undefined) return;
  const update: ExecutionUpdate = {
    execution_id: execution.execution_id,
    agent_id: execution.agent_id,
    iterations: execution.iteration_count,
    error: change.status === 'completed' ? null : execution.last_error,
    context: notify.context,
    ...change,
  };
  turn.tell(notify.to, notify.as, update);
}

/** The actor that gets its updates, or the workflow run that started it; null when a caller started it. */
export function parentOf(state: ExecutionState, { tenant }: { readonly tenant: string }): Address | null {
  if (state.status === 'pending') return null;
  const { notify, workflow_execution_id } = state;
  if (notify !== undefined) return notify.to;
  return workflow_execution_id === null ? null : `workflow/${tenant}/${workflow_execution_id}`;
}
