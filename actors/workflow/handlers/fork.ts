import { SvcError } from '../../../runtime/errors.ts';
import { type Identity, ownerPart } from '../../../runtime/identity.ts';
import { isJsonObject, type Json, plainJson } from '../../../runtime/json.ts';
import { emitAgain, type ForkedWork, type NewIds, reopen, withNewIds } from '../../../runtime/recording/forked-work.ts';
import { blackboardBytes } from '../blackboard.ts';
import { isoTime, notifyParent, TIMERS } from '../ending.ts';
import { own } from '../json-values.ts';
import type { Fork as ForkMessage, WorkflowTurn } from '../messages.ts';
import { beginAnew } from '../run.ts';
import { type Awaiting, type IdleWorkflow, isRunning, type RunningWorkflow, WorkflowState } from '../state.ts';
import { withStateTimer } from '../state-timer.ts';
import { ownIdentity, problemOf } from './start.ts';

/**
 * pending → running, with the state that another run had after one of its messages. The fork repeats the requests that were
 * open then, under new ids; those that had ended are not repeated. Forking again under the same id gets the same answer.
 */
export function Fork(state: WorkflowState, fork: ForkMessage, turn: WorkflowTurn): WorkflowState {
  if (state.status !== 'pending') {
    if (state.workflow_id !== fork.workflow_id)
      turn.refuse('conflict', 'the execution id is in use for another workflow');
    turn.reply({ execution_id: state.execution_id, status: state.status });
    return state;
  }
  const before = WorkflowState.parse(fork.work.state);
  if (!isRunning(before)) return turn.refuse('failed_precondition', 'the original had ended at this message');
  const run = asOwn(fork, before, turn);
  const problem = problemOf({ ...run, intent: run.intent ?? undefined }) ?? missingState(fork, before);
  if (problem !== null) turn.refuse(problem.code, problem.message, problem.details);
  const next = goOn(fork, before, run, turn);
  turn.reply({ execution_id: fork.execution_id, status: next.status });
  return next;
}

function goOn(fork: ForkMessage, before: RunningWorkflow, run: IdleWorkflow, turn: WorkflowTurn): WorkflowState {
  const { awaiting } = before;
  const ids: NewIds = new Map([[before.execution_id, fork.execution_id]]);
  for (const id of openActors(awaiting)) ids.set(id, turn.newId());
  emitAgain({ events: fork.work.events.filter((event) => !isOfOpenApproval(event, awaiting)) }, ids, turn);
  notifyParent(run, { status: 'running', reason: null, error: null, output: null, blackboard: {} }, turn);
  if (fork.changed.length > 0 && mayBeginAnew(awaiting)) return beginAnew(run, turn);
  const { effects, sent, timers } = openWork(fork.work, awaiting);
  const isTimed = before.timer !== undefined;
  const own = isTimed ? timers.filter(({ name }) => name !== TIMERS.state) : timers;
  reopen({ effects, sent, timers: own }, ids, turn, inNameOf(run.identity));
  const begun = plainJson(startingAnew(awaiting, effects));
  return WorkflowState.parse({
    // A shared timer may be of an earlier state, with less time than this one has.
    ...(isTimed ? withStateTimer(run, turn) : run),
    awaiting: withNewIds(begun, ids),
  });
}

/** The fields that the fork does not share with its original. */
function asOwn(fork: ForkMessage, before: RunningWorkflow, turn: WorkflowTurn): IdleWorkflow {
  const { owner: _owner, awaiting: _awaiting, timer: _timer, ...rest } = before;
  const blackboard = fork.changed.includes('blackboard') ? { ...rest.blackboard, ...fork.blackboard } : rest.blackboard;
  const { metadata } = fork.manifest;
  return {
    ...rest,
    status: 'running',
    execution_id: fork.execution_id,
    workflow_version: metadata.version,
    manifest: fork.manifest,
    identity: turn.identity ?? ownIdentity(turn),
    ancestors: fork.ancestors,
    ...ownerPart(turn.identity),
    labels: fork.labels,
    trace_id: turn.trace,
    forked_from: fork.work.from,
    notify: fork.notify,
    input: fork.input,
    blackboard,
    blackboard_bytes: blackboardBytes(blackboard),
    storage: ownStorage(before, fork.execution_id),
    started_at: isoTime(turn),
    last_transition_at: isoTime(turn),
  };
}

/** A changed manifest must have the current state of the run, of the same kind. */
function missingState({ manifest }: ForkMessage, { current_state, manifest: original }: RunningWorkflow) {
  if (current_state === null) return null;
  const kind = own(original.spec.states, current_state)?.kind;
  if (own(manifest.spec.states, current_state)?.kind === kind) return null;
  const message = `manifest: it has no state ${current_state} of kind ${kind}, in which the run was at this message`;
  return new SvcError('validation_failed', message, {
    details: [{ path: `manifest.spec.states.${current_state}`, message: `expected a state of kind ${kind}` }],
  });
}

/** The actors that the run waits for. */
function openActors(awaiting: Awaiting): string[] {
  switch (awaiting.kind) {
    case 'agent':
    case 'child':
      return [awaiting.execution_id];
    case 'panel':
      return [awaiting.panel_id];
    case 'approval':
      return [awaiting.approval_id];
    default:
      return [];
  }
}

/** The approval is opened again, and its event is emitted again. */
const isOfOpenApproval = ({ name, payload }: ForkedWork['events'][number], awaiting: Awaiting): boolean =>
  awaiting.kind === 'approval' &&
  name === 'WorkflowHumanInputRequested' &&
  isJsonObject(payload) &&
  payload.approval_id === awaiting.approval_id;

/**
 * Whether the state's step can be begun again with changed values: none of its effects has ended. The containers of a state
 * that runs several continue unchanged, and so does a container between two attempts.
 */
function mayBeginAnew(awaiting: Awaiting): boolean {
  switch (awaiting.kind) {
    case 'volumes':
    case 'turn':
    case 'containers':
      return false;
    case 'container':
      return awaiting.attempt === 1;
    case 'command':
      return awaiting.repeats === 0;
    case 'approval':
      return awaiting.about.kind === 'input';
    default:
      return true;
  }
}

/** The open requests, without the starts of children that have ended. */
function openWork({ effects, sent, timers }: ForkedWork, awaiting: Awaiting): OpenParts {
  const child = awaiting.kind === 'agent' || awaiting.kind === 'child' ? awaiting.execution_id : null;
  const isOpen = ({ request }: ForkedWork['effects'][number]): boolean =>
    (request.kind !== 'agent.start' && request.kind !== 'workflow.start') || request.input.execution_id === child;
  const asked = new Set(openActors(awaiting));
  return {
    effects: effects.filter(isOpen),
    sent: sent.filter(({ to }) => asked.has(to.slice(to.lastIndexOf('/') + 1))),
    timers: timers.filter(({ name }) => name === TIMERS.state || name === TIMERS.retry),
  };
}

type OpenParts = Pick<ForkedWork, 'effects' | 'sent' | 'timers'>;

/** A child whose start had ended is started again, under another id. An approval is opened again. */
function startingAnew(awaiting: Awaiting, effects: ForkedWork['effects']): Awaiting {
  const start = effects.find(({ request }) => request.kind === 'agent.start' || request.kind === 'workflow.start');
  switch (awaiting.kind) {
    case 'agent':
      return { ...awaiting, effect_id: start?.id ?? awaiting.effect_id };
    case 'child':
      return { ...awaiting, effect_id: start?.id ?? awaiting.effect_id, runs: false };
    case 'approval':
      return { ...awaiting, opened: false };
    default:
      return awaiting;
  }
}

/** The default workspace has the id of its run, so the fork gets another one, which is empty. */
function ownStorage({ storage, execution_id }: RunningWorkflow, id: string): RunningWorkflow['storage'] {
  if (storage.workspace !== execution_id) return storage;
  const { [execution_id]: _before, ...known } = storage.known ?? {};
  return { ...storage, workspace: id, known };
}

/** Requests run in the name of the fork's caller, not of the caller that started the original. */
const inNameOf =
  (identity: Identity) =>
  (value: Json): Json =>
    isJsonObject(value) && 'identity' in value ? { ...value, identity: plainJson(identity) } : value;
