import type { EffectResult } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { type Identity, ownerPart } from '../../../runtime/identity.ts';
import { beginRun, readContext } from '../context/read.ts';
import { TIMERS } from '../ending.ts';
import { forwardExecution, forwardedBy } from '../forwarding.ts';
import { abandonIteration, beginOrFail, idleOf } from '../iteration.ts';
import { LIMITS } from '../limits.ts';
import { type ExecutionTurn, notifyParent, type Start as StartMessage } from '../messages.ts';
import { failureOf } from '../outcome.ts';
import { awaited } from '../phase.ts';
import { type ExecutionPlan, needsPanel, wantsTools } from '../plan.ts';
import { planExecution } from '../plan-execution.ts';
import { callerVariables } from '../prompt.ts';
import type { ExecutionState, IdleExecution, RunningExecution } from '../state.ts';

/** pending → running. Starting again under the same id gets the same answer, whatever has happened to the execution since. */
export function Start(state: ExecutionState, start: StartMessage, turn: ExecutionTurn): ExecutionState {
  if (state.status !== 'pending') {
    if (state.agent_id !== start.agent_id) turn.refuse('conflict', 'the execution id is in use for another agent');
    turn.reply({ execution_id: state.execution_id });
    return state;
  }
  let running: RunningExecution;
  try {
    running = begin(start, turn);
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.row.kind === 'terminal') {
      turn.refuse(thrown.code, thrown.message, thrown.details);
    }
    throw thrown;
  }
  turn.reply({ execution_id: running.execution_id });
  return running;
}

function begin(start: StartMessage, turn: ExecutionTurn): RunningExecution {
  const { forward } = start;
  const manifest = forward === undefined ? start.manifest : withoutIsolation(start.manifest);
  const plan = asAgent(planExecution(manifest, start.security_policy ?? {}), start.agent_id);
  const input = effectiveInput(start);
  const variables = callerVariables(start.context ?? {});
  refuseTooLong(input, variables);
  const startedAt = new Date(turn.now).toISOString();
  const execution: IdleExecution = {
    status: 'running',
    execution_id: start.execution_id,
    agent_id: start.agent_id,
    agent_name: start.manifest.metadata.name,
    agent_version: start.manifest.metadata.version,
    workflow_execution_id: start.workflow_execution_id ?? null,
    ...ownerPart(turn.identity),
    labels: start.labels,
    trace_id: turn.trace,
    notify: start.notify,
    mounts: start.mounts,
    depth: start.depth,
    in_prose: start.in_prose,
    rules: start.rules,
    request_hash: start.request_hash,
    iteration_count: 0,
    attempts: [],
    last_output: null,
    last_error: null,
    usage: { input_tokens: 0, output_tokens: 0, cost: 0 },
    in_doubt: 0,
    tool_calls_executed: 0,
    calls_in_doubt: [],
    sessions: [],
    tool_history: [],
    started_at: startedAt,
    updated_at: startedAt,
    plan,
    input,
    variables,
    ...identityOf(plan, turn),
  };
  turn.emit('execution_started', {
    execution_id: start.execution_id,
    agent_id: start.agent_id,
    started_at: startedAt,
  });
  notifyParent(execution, { status: 'running', output: null, reason: null, score: 0 }, turn);
  turn.after(TIMERS.execution, plan.execution_timeout_ms, 'ExecutionTimedOut', {});
  if (forward === undefined) return beginRun(execution, turn);
  return forwardExecution(execution, forwardedBy(start.manifest, forward.tags), turn);
}

/** The worker checks that it supports the isolation. */
const withoutIsolation = (manifest: StartMessage['manifest']): StartMessage['manifest'] => ({
  ...manifest,
  spec: { ...manifest.spec, runtime: { ...manifest.spec.runtime, isolation: 'inherit' } },
});

/** With a security context the agent's id is sent too, since some contexts admit certain agents only. */
export const asAgent = (plan: ExecutionPlan, agent_id: string): ExecutionPlan =>
  plan.tools.security_context === undefined ? plan : { ...plan, tools: { ...plan.tools, agent_id } };

export function refuseTooLong(input: string, variables: RunningExecution['variables']): void {
  // The braces of an empty context are not of the caller: an input of exactly the limit is accepted.
  const context = Object.keys(variables).length === 0 ? 0 : Buffer.byteLength(JSON.stringify(variables));
  const bytes = Buffer.byteLength(input) + context;
  if (bytes <= LIMITS.inputBytes) return;
  const message = `input and context have ${bytes} bytes, the limit is ${LIMITS.inputBytes}`;
  throw new SvcError('payload_too_large', message, { field: 'input' });
}

/** The identity is stored when judges or tools need it: later turns, which effects and timers cause, have none. */
export function identityOf(plan: ExecutionPlan, { identity }: ExecutionTurn): { identity?: Identity } {
  if (identity !== null) return { identity };
  if (plan.validators.some(needsPanel) || plan.tool_checks.length > 0) {
    throw new SvcError(
      'invalid_argument',
      'identity: missing; judges run in the name of the caller that starts the execution',
    );
  }
  if (wantsTools(plan))
    throw new SvcError(
      'invalid_argument',
      'identity: missing; tools are used in the name of the caller that starts the execution',
    );
  return {};
}

/** The caller's input; without one the manifest's `input_data` as JSON, or an empty text. */
export function effectiveInput(start: StartMessage): string {
  if (start.input !== '') return start.input;
  const defaults = start.manifest.spec.task.input_data;
  return Object.keys(defaults).length > 0 ? JSON.stringify(defaults) : '';
}

/**
 * The files and URLs of `spec.context` were read: the first iteration begins. A failed read ends the execution under the code
 * of its error, since no iteration could fix it. The text is stored, so that nothing is read twice.
 */
export function ContextRead(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'ContextRead', result.effectId);
  if (found === null) return state;
  const { running } = found;
  const { outcome } = result;
  if (outcome.kind !== 'done') {
    const failure = failureOf(outcome);
    return abandonIteration(running, failure, { status: 'failed', reason: failure.error_type }, turn);
  }
  const context_text = readContext(running.plan, result);
  if (context_text === null) {
    const failure = { error_type: 'internal', message: 'spec.context: the result of reading it is malformed' };
    return abandonIteration(running, failure, { status: 'failed', reason: 'internal' }, turn);
  }
  return beginOrFail({ ...idleOf(running), context_text }, turn);
}
