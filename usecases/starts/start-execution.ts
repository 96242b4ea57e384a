import { type AgentCatalog, actingFor, requireStartable } from '../../catalog/api.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { foundOrNull } from '../../runtime/kit/found.ts';
import type { RunningLimits, StartedKind, TierLimits } from '../../security/api.ts';
import { type ExecutionApi, refuseLargeExecution, type StartExecution } from '../executions.ts';
import { hashInTurns } from '../large-values.ts';
import type { WorkflowApi } from '../workflow-runs.ts';
import { type StartKeys, startIdFor } from './start-keys.ts';

/** Limits for starts by callers. Actors start children without them: those count with their parent's start. */
export interface StartLimits {
  readonly tierLimits?: TierLimits;
  readonly runningLimits?: RunningLimits;
  /** Absent: a key is shared by its whole tenant and names the same id for ever. */
  readonly startKeys?: StartKeys;
}

interface Start {
  readonly identity: Identity;
  readonly kind: StartedKind;
  readonly id: string;
}

const COUNTED = { execution: 'agent_executions', workflow: 'workflow_executions' } as const;

/** Counts one start against the caller's rates and takes one of its slots for running work. Throws `rate_limited`. */
export async function takeStart({ tierLimits, runningLimits }: StartLimits, start: Start): Promise<void> {
  const { identity, kind, id } = start;
  await runningLimits?.admit(identity, kind, id);
  try {
    await tierLimits?.take(identity, COUNTED[kind]);
  } catch (thrown) {
    await runningLimits?.release(identity, id);
    throw thrown;
  }
}

/** Makes the start. Releases its slot when the start certainly did not happen. */
export async function startInSlot<T>(limits: StartLimits, start: Start, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (thrown) {
    // After a conflict the slot belongs to the execution that runs under this id; after a time-out the outcome is unknown.
    const isRefused = thrown instanceof SvcError && thrown.row.kind === 'terminal' && thrown.code !== 'conflict';
    if (isRefused) await limits.runningLimits?.release(start.identity, start.id);
    throw thrown;
  }
}

/** A caller's start of an agent, the same on every transport. */
export interface StartCall
  extends Pick<
    StartExecution,
    'input' | 'context' | 'securityPolicy' | 'workflowExecutionId' | 'labels' | 'mounts' | 'depth' | 'notify'
  > {
  /** UUID or name. */
  readonly agent: string;
  /** Version of the agent; default the newest. */
  readonly version?: string;
  /** It begins as a fork. */
  readonly fork?: ForkedStart<StartExecution>;
}

/** The fields of a fork, besides those of a start. */
export interface ForkedStart<Request extends { readonly manifest: unknown; readonly fork?: unknown }> {
  /** The work of the original, for the run with this id. */
  readonly workFor: (id: string) => Promise<NonNullable<Request['fork']>>;
  /** Its manifest, whatever is deployed. */
  readonly manifest: Request['manifest'];
  /** The original belongs to one user, so the fork does too. */
  readonly isConfidential: boolean;
  /** The call, for the idempotency key: the work of the fork may be larger when a call is repeated. */
  readonly asked: unknown;
}

/** The identity that a fork acts with. */
export const forkIdentity = (identity: Identity, fork: { readonly isConfidential: boolean } | undefined): Identity =>
  fork?.isConfidential === true ? { ...identity, confidential: true } : identity;

interface StartCaller {
  readonly identity: Identity;
  /** W3C trace id. */
  readonly trace: string;
  /** The same key, caller and call start one execution, until that execution is removed. */
  readonly idempotencyKey?: string;
  /** Used instead of a key by callers that repeat their call with the same id (tools). */
  readonly executionId?: string;
  /** Ends the wait for the answer; a start that was already sent may still happen. */
  readonly signal?: AbortSignal;
}

/**
 * Looks the agent up with the caller's visibility and starts an execution of it. Resolves when the start is durable;
 * the answer says what it waits for when no live node has its tags. A repeat under the same key is not counted again.
 * Throws `not_found`, `failed_precondition` for a paused or archived agent, `conflict` for a key that started another
 * agent or came with another body, `invalid_argument` for an unknown workflow execution, `rate_limited`, and the errors of `ExecutionApi.start`.
 */
export async function startExecution(
  parts: StartLimits & {
    readonly agents: AgentCatalog;
    readonly executions: ExecutionApi;
    readonly workflows?: { readonly workflows: Pick<WorkflowApi, 'status'> };
  },
  call: StartCall,
  caller: StartCaller,
): ReturnType<ExecutionApi['start']> {
  const { agent: agentId, version, fork, ...rest } = call;
  const { identity, idempotencyKey, executionId } = caller;
  // A key costs a hash of the whole request.
  if (idempotencyKey !== undefined) refuseLargeExecution(rest);
  const agent = await parts.agents.get(identity, agentId, version);
  await checkWorkflowRun(parts.workflows?.workflows, identity, call.workflowExecutionId);
  // The caller is gone, so there is no reason to start.
  caller.signal?.throwIfAborted();
  const asked = fork?.asked ?? { ...rest, agent: agent.agent_id, version };
  const key = { identity, what: fork === undefined ? '' : 'fork', key: idempotencyKey } as const;
  const id = executionId ?? (await startIdFor(parts.startKeys, key, asked));
  const start: StartExecution = {
    ...rest,
    executionId: id,
    agentId: agent.agent_id,
    manifest: fork?.manifest ?? agent.manifest,
    identity: forkIdentity(actingFor(identity, agent), fork),
    fork: await fork?.workFor(id),
  };
  const { trace, signal } = caller;
  const slot = { identity, kind: 'execution', id } as const;
  const admit = async (): Promise<void> => {
    requireStartable(agent);
    await takeStart(parts, slot);
  };
  return startInSlot(parts, slot, async () => {
    if ((idempotencyKey ?? executionId) !== undefined)
      return startOnce(parts.executions, start, { trace, signal }, admit);
    await admit();
    return parts.executions.start(start, { trace, signal, isFirst: true });
  });
}

/** Throws `invalid_argument` for a workflow execution that the caller does not see. */
async function checkWorkflowRun(
  workflows: Pick<WorkflowApi, 'status'> | undefined,
  identity: Identity,
  id: string | undefined,
): Promise<void> {
  if (id === undefined || workflows === undefined) return;
  try {
    await workflows.status(identity, id);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code !== 'not_found') throw thrown;
    const field = 'workflow_execution_id';
    throw new SvcError('invalid_argument', `${field}: no workflow execution has this id`, { field, cause: thrown });
  }
}

type Waiting = { readonly trace: string; readonly signal: AbortSignal | undefined };

/**
 * Starts the execution, or finds it when an earlier or simultaneous call with the same execution id started it. Calls
 * `admit` before a new start; `admit` may throw to refuse it. Throws `conflict` when the id belongs to another agent.
 */
export async function startOnce(
  executions: ExecutionApi,
  start: StartExecution,
  waiting: Waiting,
  admit?: () => Promise<void>,
): ReturnType<ExecutionApi['start']> {
  const started = { execution_id: start.executionId };
  if (await startedBefore(executions, start)) return started;
  await admit?.();
  try {
    // The message id is the execution id, so the mailbox also drops a repeat.
    return await executions.start(start, { ...waiting, messageId: start.executionId });
  } catch (error) {
    if (error instanceof SvcError && error.code === 'conflict' && (await startedBefore(executions, start)))
      return started;
    throw error;
  }
}

/**
 * `startOnce` for a request that may be repeated with another input under the same id. Throws `conflict` for that, also when
 * both came at the same time.
 */
export async function startForwarded(
  executions: ExecutionApi,
  start: StartExecution,
  waiting: Waiting,
): ReturnType<ExecutionApi['start']> {
  const { executionId, identity, input, context = {} } = start;
  const requestHash = await hashInTurns({ input, context });
  const started = await startOnce(executions, { ...start, requestHash }, waiting);
  const kept = await executions.requestHash(identity, executionId);
  if (kept === undefined || kept === requestHash) return started;
  const text = 'execution_id: this id was used to start an execution with another input or context';
  throw new SvcError('conflict', text, { field: 'execution_id' });
}

/** Whether an earlier call started the execution. Throws `conflict` when the id belongs to another agent. */
async function startedBefore(executions: ExecutionApi, start: StartExecution): Promise<boolean> {
  const before = await foundOrNull(executions.status(start.identity, start.executionId));
  if (before === null || before.agent_id === start.agentId) return before !== null;
  throw new SvcError('conflict', 'this key or id was used to start an execution of another agent');
}

/** The input that an execution starts with. */
interface TaskInput {
  /** The value of `{{input}}` in the agent's prompt. */
  readonly input: string;
  /** The values of `{{context.KEY}}` and, unless the prompt defines the name itself, of `{{KEY}}`. */
  readonly context?: JsonObject;
}

/**
 * Combines the goal and the values of a start (svc.task.execute) into an agent's input: the goal's text, then the
 * values as JSON if there are any. The values are also available by name.
 */
export function taskInput(intent: string | undefined, values: JsonObject): TaskInput {
  refuseLargeExecution({ input: intent ?? '', context: values });
  const hasValues = Object.keys(values).length > 0;
  const json = hasValues ? [JSON.stringify(values)] : [];
  const input = [...(intent === undefined ? [] : [intent]), ...json].join('\n\n');
  const context = { ...values, ...(intent === undefined ? {} : { intent }) };
  return Object.keys(context).length === 0 ? { input } : { input, context };
}
