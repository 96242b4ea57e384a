import { SvcError } from '../../../runtime/errors.ts';
import { ownerPart } from '../../../runtime/identity.ts';
import { isJsonObject, type Json, type JsonObject, plainJson } from '../../../runtime/json.ts';
import { emitAgain, type NewIds, reopen, withNewIds } from '../../../runtime/recording/forked-work.ts';
import { beginRun } from '../context/read.ts';
import { beginLoop, userMessage } from '../inner-loop/ask.ts';
import { openSession } from '../inner-loop/audit.ts';
import { askIteration, idleOf } from '../iteration.ts';
import { type ExecutionTurn, type Fork, notifyParent } from '../messages.ts';
import { phaseOf, waitsOf } from '../phase.ts';
import { planExecution } from '../plan-execution.ts';
import { callerVariables, renderPrompt } from '../prompt.ts';
import { ExecutionState, principalOf, principalPart, type RunningExecution } from '../state.ts';
import { expectRepeat } from '../streamed.ts';
import { asAgent, effectiveInput, identityOf, refuseTooLong } from './start.ts';

/**
 * pending → running, with the state that another execution had after one of its messages. The fork repeats the requests that
 * were open then, under new ids; those that had ended are not repeated. Forking again under the same id gets the same answer.
 */
export const forked =
  (migrate: (state: Json, fromVersion: number) => Json) =>
  (state: ExecutionState, fork: Fork, turn: ExecutionTurn): ExecutionState => {
    if (state.status !== 'pending') {
      if (state.agent_id !== fork.agent_id) turn.refuse('conflict', 'the execution id is in use for another agent');
      turn.reply({ execution_id: state.execution_id });
      return state;
    }
    const before = ExecutionState.parse(migrate(fork.work.state, fork.work.version));
    if (before.status !== 'running')
      return turn.refuse('failed_precondition', 'the original had ended at this message');
    try {
      const running = begin(fork, before, turn);
      turn.reply({ execution_id: running.execution_id });
      return running;
    } catch (thrown) {
      if (!(thrown instanceof SvcError) || thrown.row.kind !== 'terminal') throw thrown;
      return turn.refuse(thrown.code, thrown.message, thrown.details);
    }
  };

function begin(fork: Fork, before: RunningExecution, turn: ExecutionTurn): RunningExecution {
  const ids: NewIds = new Map([[before.execution_id, fork.execution_id], ...ownVolumes(fork, before)]);
  for (const { kind, id } of waitsOf(phaseOf(before))) {
    if (kind === 'panel' || kind === 'call judges' || kind === 'dispatch') ids.set(id, turn.newId());
  }
  const values = changedValues(fork, before);
  const after = asOwn(fork, { ...before, ...values }, turn);
  emitAgain(fork.work, ids, turn);
  notifyParent(after, { status: 'running', output: null, reason: null, score: 0 }, turn);
  const asksAnew = fork.changed.length > 0 && mayAskAnew(before);
  const effects = asksAnew ? [] : fork.work.effects;
  reopen({ ...fork.work, effects }, ids, turn, inNameOf(after));
  if (after.grant !== undefined) openSession(after, turn);
  if (asksAnew) return askAnew(after, turn);
  const current: unknown = withNewIds(plainJson(after.current), ids);
  const running = ExecutionState.parse({ ...after, current });
  if (running.status !== 'running') throw new Error('the state of a fork is not that of a running execution');
  return { ...running, current: { ...running.current, streamed: expectRepeat(running.current.streamed) } };
}

/** The volumes of the manifest: the fork gets its own. */
function ownVolumes(fork: Fork, before: RunningExecution): [original: string, own: string][] {
  return (before.mounts ?? []).flatMap((mount): [string, string][] => {
    const own = fork.mounts?.find(
      ({ mount_path, of_manifest }) => of_manifest === true && mount_path === mount.mount_path,
    );
    return mount.of_manifest === true && own !== undefined ? [[mount.volume_id, own.volume_id]] : [];
  });
}

/** The fields that the fork does not share with its original, such as its containers and the sessions of its agent. */
function asOwn(fork: Fork, before: RunningExecution, turn: ExecutionTurn): RunningExecution {
  const now = new Date(turn.now).toISOString();
  const { owner: _owner, identity: _identity, current, ...rest } = before;
  const { container_id: _container, ...open } = current;
  return {
    ...rest,
    execution_id: fork.execution_id,
    workflow_execution_id: fork.workflow_execution_id ?? null,
    ...ownerPart(turn.identity),
    labels: fork.labels,
    trace_id: turn.trace,
    forked_from: fork.work.from,
    notify: fork.notify,
    mounts: fork.mounts ?? rest.mounts,
    sessions: [],
    started_at: now,
    updated_at: now,
    ...identityOf(rest.plan, turn),
    current: open,
  };
}

type Values = Pick<RunningExecution, 'plan' | 'input' | 'variables' | 'agent_version' | 'context_text'>;

function changedValues(fork: Fork, before: RunningExecution): Values {
  const { input, variables, plan, agent_version, context_text } = before;
  const values: Values = { input, variables, plan, agent_version, context_text };
  if (fork.changed.includes('input')) {
    const changed = { input: effectiveInput(fork), variables: callerVariables(fork.context ?? {}) };
    refuseTooLong(changed.input, changed.variables);
    Object.assign(values, changed);
  }
  if (!fork.changed.includes('manifest')) return values;
  const changed = asAgent(planExecution(fork.manifest, fork.security_policy ?? {}), fork.agent_id);
  refuseOtherJudges(before, changed);
  const known = knownContext(before, changed);
  return { ...values, plan: changed, agent_version: fork.manifest.metadata.version, context_text: known };
}

/** Files and URLs of `spec.context` are not read again, so the fork of a later message keeps the entries. */
function knownContext(before: RunningExecution, changed: RunningExecution['plan']): string | undefined {
  const { plan, context_text } = before;
  if (changed.context_entries === undefined || phaseOf(before).kind === 'context') return undefined;
  if (JSON.stringify(changed.context_entries) === JSON.stringify(plan.context_entries)) return context_text;
  const message =
    'manifest: spec.context must be that of the original, which was read when it started: fork an earlier message, or start a new run';
  throw new SvcError('validation_failed', message, { field: 'manifest' });
}

/** Verdicts are stored by the index of their validator, so the validators up to the open one must be the same. */
function refuseOtherJudges({ plan, current }: RunningExecution, changed: RunningExecution['plan']): void {
  const judged = current.judging?.verdicts.length;
  if (judged === undefined) return;
  const upTo = (all: RunningExecution['plan']['validators']): string => JSON.stringify(all.slice(0, judged + 1));
  if (upTo(plan.validators) === upTo(changed.validators)) return;
  const message = `manifest: its first ${judged + 1} validators must be those of the original, whose result is being judged`;
  throw new SvcError('validation_failed', message, { field: 'manifest' });
}

/**
 * Whether the open effect can be requested again with changed values: nothing of the iteration has ended. A conversation with
 * tools continues unchanged; its values change with the next iteration.
 */
function mayAskAnew(before: RunningExecution): boolean {
  const phase = phaseOf(before);
  if (phase.kind === 'model' || phase.kind === 'context') return true;
  if (phase.kind === 'program') return phase.loop === null;
  if (phase.kind !== 'loop') return false;
  const { loop } = phase;
  return loop.phase === 'granting' || (loop.phase === 'model' && loop.round + loop.earlier_rounds === 1);
}

function askAnew(running: RunningExecution, turn: ExecutionTurn): RunningExecution {
  const { streamed, in_doubt, loop } = running.current;
  const execution = idleOf(running);
  if (phaseOf(running).kind === 'context') return beginRun(execution, turn);
  const prompt = renderPrompt(execution, execution.iteration_count);
  const asked =
    loop === undefined
      ? askIteration(execution, prompt, turn)
      : beginLoop(
          { ...execution, current: { effect_id: '', in_doubt, streamed } },
          { by: 'node', request: '', model: execution.plan.model, messages: [userMessage(prompt)] },
          turn,
        );
  return { ...asked, current: { ...asked.current, in_doubt, streamed: expectRepeat(streamed) } };
}

/** Requests run in the name of the fork's caller, not of the caller that started the original. */
const inNameOf =
  (running: RunningExecution) =>
  (value: Json): Json => {
    if (!isJsonObject(value)) return value;
    const { identity } = running;
    const own: JsonObject = { ...value };
    if ('principal' in own) Object.assign(own, { principal: undefined }, principalPart(running));
    if (isJsonObject(own.subject)) own.subject = { ...own.subject, principal: plainJson(principalOf(running)) };
    if ('identity' in own && identity !== undefined) own.identity = plainJson(identity);
    return plainJson(own);
  };
