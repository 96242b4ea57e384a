import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import { isJsonObject, type Json, type JsonObject } from '../../runtime/json.ts';
import { keepHead } from '../execution/bounded-text.ts';
import { emitPipelineEnded } from './intent-pipeline.ts';
import { own } from './json-values.ts';
import { LIMITS } from './limits.ts';
import type { WorkflowTurn, WorkflowUpdate } from './messages.ts';
import type { EndedWorkflow, IdleWorkflow } from './state.ts';

/** Names of the two timers of a run. */
export const TIMERS = { state: 'state', retry: 'retry' } as const;

let memo = { now: Number.NaN, text: '' };

/** A turn formats the same time many times, so the last text is cached. */
export function isoTime({ now }: { readonly now: number }): string {
  if (memo.now !== now) memo = { now, text: new Date(now).toISOString() };
  return memo.text;
}

export function completeRun(run: IdleWorkflow, turn: WorkflowTurn): EndedWorkflow {
  const { execution_id, blackboard } = run;
  const output = outputOf(blackboard, run.current_state);
  const completed_at = isoTime(turn);
  const outcome = { status: 'completed', reason: null, error: null, output } as const;
  emitPipelineEnded(run, outcome, turn);
  turn.emit('WorkflowExecutionCompleted', { execution_id, final_blackboard: blackboard, output, completed_at });
  return end(run, outcome, turn);
}

/** `reason` is a code: `no_transition_matched`, `max_transitions_exceeded`, or the code of the state's error. */
export function failRun(run: IdleWorkflow, reason: string, message: string, turn: WorkflowTurn): EndedWorkflow {
  const { execution_id, current_state } = run;
  const error = keepHead(message, LIMITS.errorChars);
  const failed_at = isoTime(turn);
  const outcome = { status: 'failed', reason, error, output: null } as const;
  emitPipelineEnded(run, outcome, turn);
  turn.emit('WorkflowExecutionFailed', { execution_id, reason, error, state_name: current_state, failed_at });
  return end(run, outcome, turn);
}

export function cancelRun(run: IdleWorkflow, reason: string | null, turn: WorkflowTurn): EndedWorkflow {
  const { execution_id } = run;
  const outcome = { status: 'cancelled', reason: reason ?? 'cancelled', error: null, output: null } as const;
  emitPipelineEnded(run, outcome, turn);
  turn.emit('WorkflowExecutionCancelled', { execution_id, reason, cancelled_at: isoTime(turn) });
  return end(run, outcome, turn);
}

/** Output of a completed run: its last state's `output`, or `result`, or the whole entry except its status. */
export function outputOf(blackboard: JsonObject, lastState: string | null): Json {
  const record = lastState === null ? undefined : own(blackboard, lastState);
  if (!isJsonObject(record)) return record ?? null;
  const { status: _status, error: _error, ...rest } = record;
  return own(rest, 'output') ?? own(rest, 'result') ?? rest;
}

/** Sends an update to the actor that the start named in `notify`, if any. */
export function notifyParent(
  run: IdleWorkflow,
  change: Pick<WorkflowUpdate, 'status' | 'reason' | 'error' | 'output' | 'blackboard'>,
  turn: WorkflowTurn,
): void {
  const { notify, execution_id, workflow_id } = run;
  if (notify === undefined) return;
  const update: WorkflowUpdate = { execution_id, workflow_id, context: notify.context, ...change };
  turn.tell(notify.to, notify.as, update);
}

type Outcome = Pick<WorkflowUpdate, 'reason' | 'error' | 'output'> & { readonly status: EndedWorkflow['status'] };

function end(run: IdleWorkflow, outcome: Outcome, turn: WorkflowTurn): EndedWorkflow {
  const { output, ...ended } = outcome;
  if (run.timer !== undefined) turn.clear(TIMERS.state);
  notifyParent(run, { ...ended, output, blackboard: run.blackboard }, turn);
  const { execution_id, workflow_id, workflow_name, workflow_version, intent, input, blackboard, visits } = run;
  const {
    current_state,
    in_doubt,
    started_at,
    last_transition_at,
    notify,
    owner,
    labels,
    trace_id,
    forked_from,
    rules,
  } = run;
  return {
    execution_id,
    workflow_id,
    workflow_name,
    workflow_version,
    intent,
    input,
    blackboard,
    visits,
    current_state,
    in_doubt,
    started_at,
    last_transition_at,
    notify,
    owner,
    labels,
    trace_id,
    forked_from,
    rules,
    ...ended,
    ended_at: isoTime(turn),
  };
}

/** What happens to a command that had started when its node died (E2). */
type DoubtPolicy = 'retry' | 'fail' | 'ask';

/** Annotation of a workflow; with the suffix `.STATE`, of one state. */
const ON_IN_DOUBT = 'svc.dev/on-in-doubt';

const POLICIES: readonly DoubtPolicy[] = ['retry', 'fail', 'ask'];

const policyOf = (text: string | undefined): DoubtPolicy | undefined => POLICIES.find((policy) => policy === text);

/** The state's policy, or the workflow's, or `fail`: a repeat is always an explicit choice. */
export function doubtPolicy({ metadata }: WorkflowManifest, state: string): DoubtPolicy {
  const { annotations } = metadata;
  return policyOf(own(annotations, `${ON_IN_DOUBT}.${state}`)) ?? policyOf(own(annotations, ON_IN_DOUBT)) ?? 'fail';
}

/** The first of these annotations with an unknown value; null when there is none. */
export function badDoubtPolicy({ metadata }: WorkflowManifest): string | null {
  const bad = Object.entries(metadata.annotations).find(
    ([key, value]) => (key === ON_IN_DOUBT || key.startsWith(`${ON_IN_DOUBT}.`)) && policyOf(value) === undefined,
  );
  return bad?.[0] ?? null;
}
