import type { StateSpec } from '../../manifests/workflow/schema.ts';
import { hasRules } from '../run-rules.ts';
import { TIMERS } from './ending.ts';
import { LIMITS } from './limits.ts';
import type { WorkflowTurn } from './messages.ts';
import { currentStep, type IdleWorkflow, type RunningWorkflow } from './state.ts';

/**
 * Whether the states of a run share a timer. It stays pending while the run goes from state to state, so the store need not
 * write one for each of them. It may fire before the time of the current state is over; then it is set again for the rest.
 */
export const hasOneTimer = (run: IdleWorkflow): boolean => hasRules(run, 4);

/** Begins the time of the current state, with its full limit. */
export function withStateTimer(run: IdleWorkflow, turn: WorkflowTurn): IdleWorkflow {
  const { timeout_ms, kind } = currentStep(run);
  // The approval of a Human state has the timer itself.
  if (timeout_ms === null || kind === 'Human') return withoutSharedTimer(run, turn);
  const ms = timeout_ms + graceMs(run, kind);
  const ends_at = turn.now + ms;
  if (run.timer !== undefined && run.timer.fires_at <= ends_at)
    return { ...run, timer: { ends_at, fires_at: run.timer.fires_at } };
  turn.after(TIMERS.state, ms, 'StateTimedOut', { entry: run.entry });
  return hasOneTimer(run) ? { ...run, timer: { ends_at, fires_at: ends_at } } : run;
}

/** Time beyond its limit in which a state that ends its work by itself may report it. */
function graceMs(run: IdleWorkflow, kind: StateSpec['kind']): number {
  if (kind === 'System') return LIMITS.commandGraceMs;
  const isContainer = kind === 'ContainerRun' || kind === 'ParallelContainerRun';
  return isContainer && hasRules(run, 5) ? LIMITS.containerGraceMs : 0;
}

/** Time that is left to the current state, which waits, under rules 5 and later; zero or less when it is over. */
export const stateLeftMs = (run: IdleWorkflow, turn: WorkflowTurn): number =>
  run.timer === undefined
    ? Number.POSITIVE_INFINITY
    : run.timer.ends_at - graceMs(run, currentStep(run).kind) - turn.now;

/** The current state has no limit here. A timer of its own was cleared with the state before. */
export const withoutSharedTimer = (run: IdleWorkflow, turn: WorkflowTurn): IdleWorkflow =>
  run.timer === undefined ? run : stopStateTimer(run, turn);

export function stopStateTimer(run: IdleWorkflow, turn: WorkflowTurn): IdleWorkflow {
  turn.clear(TIMERS.state);
  if (run.timer === undefined) return run;
  const { timer: _timer, ...rest } = run;
  return rest;
}

/** The timer has fired. Returns the run without its wait and its timer when the time of the current state is over. */
export function timedOut(state: RunningWorkflow, entry: number, turn: WorkflowTurn): IdleWorkflow | RunningWorkflow {
  const { awaiting: _awaiting, timer, ...run } = state;
  if (!hasOneTimer(run)) return entry === run.entry ? run : state;
  if (timer === undefined) return state;
  const leftMs = timer.ends_at - turn.now;
  if (leftMs <= 0) return run;
  turn.after(TIMERS.state, leftMs, 'StateTimedOut', { entry: run.entry });
  return { ...state, timer: { ends_at: timer.ends_at, fires_at: timer.ends_at } };
}
