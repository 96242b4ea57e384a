import { type AgentCatalog, actingFor, requireStartable } from '../../catalog/api.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { RunningLimits, StartedKind, TierLimits } from '../../security/api.ts';
import type { ExecutionApi, StartExecution } from '../executions.ts';
import { type StartKeys, startIdFor } from './start-keys.ts';

/** Of callers; actors, whose starts were counted with their parent's, come without. */
export interface StartLimits {
  readonly tierLimits?: TierLimits;
  readonly runningLimits?: RunningLimits;
  /** Without it a key belongs to its tenant and names one id for ever. */
  readonly startKeys?: StartKeys;
}

interface Start {
  readonly identity: Identity;
  readonly kind: StartedKind;
  readonly id: string;
}

const COUNTED = { execution: 'agent_executions', workflow: 'workflow_executions' } as const;

/** Takes one start from the rates of a caller, and a place among what it runs at once. Throws `rate_limited`. */
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

/** Makes the start; gives its place back when it certainly did not happen. */
export async function startInPlace<T>(limits: StartLimits, start: Start, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (thrown) {
    // After a conflict something else runs under this id, and has the place; after a time-out nobody knows.
    const isRefused = thrown instanceof SvcError && thrown.row.kind === 'terminal' && thrown.code !== 'conflict';
    if (isRefused) await limits.runningLimits?.release(start.identity, start.id);
    throw thrown;
  }
}

/** What a caller asks for, whichever way it came. */
export interface StartCall
  extends Pick<StartExecution, 'input' | 'context' | 'securityPolicy' | 'workflowExecutionId'> {
  /** UUID or name. */
  readonly agent: string;
  /** Version of the agent; default the newest. */
  readonly version?: string;
}

interface StartCaller {
  readonly identity: Identity;
  /** W3C trace id. */
  readonly trace: string;
  /** The same key of the same caller with the same call starts one execution, until that was removed. */
  readonly idempotencyKey?: string;
  /** Instead of a key: the id itself, made by a caller that repeats its call (tools). */
  readonly executionId?: string;
  /** Stops waiting for the answer; what was sent may start all the same. */
  readonly signal?: AbortSignal;
}

/**
 * Finds the agent as the caller sees it and starts an execution of it; resolves when the start is durable, with what it
 * waits for where no live node has its tags. A repeat under the same key is not counted again. Throws `not_found`,
 * `failed_precondition` for a paused or archived agent, `conflict` for a key that
 * started another agent or was given with another body, `rate_limited`, and what `ExecutionApi.start` throws.
 */
export async function startExecution(
  parts: StartLimits & { readonly agents: AgentCatalog; readonly executions: ExecutionApi },
  call: StartCall,
  caller: StartCaller,
): ReturnType<ExecutionApi['start']> {
  const { agent: agentId, version, ...rest } = call;
  const { identity, idempotencyKey, executionId } = caller;
  const agent = await parts.agents.get(identity, agentId, version);
  // Whoever asked has gone, so nothing is started for nobody.
  caller.signal?.throwIfAborted();
  const asked = { ...rest, agent: agent.agent_id, version };
  const start: StartExecution = {
    ...rest,
    executionId: executionId ?? (await startIdFor(parts.startKeys, { identity, what: '', key: idempotencyKey }, asked)),
    agentId: agent.agent_id,
    manifest: agent.manifest,
    identity: actingFor(identity, agent),
  };
  const { trace, signal } = caller;
  const place = { identity, kind: 'execution', id: start.executionId } as const;
  const admit = async (): Promise<void> => {
    requireStartable(agent);
    await takeStart(parts, place);
  };
  return startInPlace(parts, place, async () => {
    if ((idempotencyKey ?? executionId) !== undefined)
      return startOnce(parts.executions, start, { trace, signal }, admit);
    await admit();
    return parts.executions.start(start, { ...callOptions({ trace, signal }), isFirst: true });
  });
}

type Waiting = { readonly trace: string; readonly signal: AbortSignal | undefined };

const callOptions = ({ trace, signal }: Waiting) => ({ trace, ...(signal === undefined ? {} : { signal }) });

/**
 * Starts it, or finds it started by an earlier or simultaneous call for the same execution id. `admit` is asked before a
 * start that was not made yet, and may throw. Throws `conflict` when that was for another agent.
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
    // The message has the id of the execution, so the mailbox drops a repeat as well.
    return await executions.start(start, { ...callOptions(waiting), messageId: start.executionId });
  } catch (error) {
    if (error instanceof SvcError && error.code === 'conflict' && (await startedBefore(executions, start)))
      return started;
    throw error;
  }
}

/** Whether the execution was started. Throws `conflict` when that was for another agent. */
async function startedBefore(executions: ExecutionApi, start: StartExecution): Promise<boolean> {
  try {
    const { agent_id } = await executions.status(start.identity, start.executionId);
    if (agent_id === start.agentId) return true;
  } catch (error) {
    if (error instanceof SvcError && error.code === 'not_found') return false;
    throw error;
  }
  throw new SvcError('conflict', 'this key or id was used to start an execution of another agent');
}

/** What an execution is started with. */
interface TaskInput {
  /** `{{input}}` of the agent's prompt. */
  readonly input: string;
  /** `{{context.KEY}}` and, where the name is not one of the prompt's own, `{{KEY}}`. */
  readonly context?: JsonObject;
}

/**
 * Goal and values of a start (svc.task.execute) as an agent takes them: the text is the goal, then the values as JSON when
 * there are any; the values are there by name too.
 */
export function taskInput(intent: string | undefined, values: JsonObject): TaskInput {
  const hasValues = Object.keys(values).length > 0;
  const json = hasValues ? [JSON.stringify(values)] : [];
  const input = [...(intent === undefined ? [] : [intent]), ...json].join('\n\n');
  const context = { ...values, ...(intent === undefined ? {} : { intent }) };
  return Object.keys(context).length === 0 ? { input } : { input, context };
}
