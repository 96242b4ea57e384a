import type { StateOf } from '../../../manifests/workflow/schema.ts';
import { askEffect, bounded } from '../ask-effect.ts';
import type { Awaiting } from '../awaiting.ts';
import { isoTime, TIMERS } from '../ending.ts';
import type { WorkflowTurn } from '../messages.ts';
import { renderer } from '../render.ts';
import type { IdleWorkflow } from '../state.ts';
import { containerInput, tellStarted } from './container.ts';
import type { Begun } from './step.ts';

/** Kind ContainerRun (spec 3): one container, at most `retry.max_attempts` times. */
export function beginContainerRun(run: IdleWorkflow, step: StateOf<'ContainerRun'>, turn: WorkflowTurn): Begun {
  return { kind: 'waits', awaiting: askContainer(run, step, 1, turn) };
}

/** Asks for attempt number `attempt`; the same scope renders the same container. */
export function askContainer(
  run: IdleWorkflow,
  step: StateOf<'ContainerRun'>,
  attempt: number,
  turn: WorkflowTurn,
): Awaiting {
  const input = containerInput(run, step, null, renderer(run));
  bounded([input]);
  tellStarted(run, input, { step_name: step.name ?? null, attempt }, turn);
  const effectId = askEffect('container.run', input, { entry: run.entry, attempt }, turn);
  return { kind: 'container', effect_id: effectId, attempt, retry_at: null };
}

const MAX_PAUSE_MS = 24 * 3_600_000;

/** The pause before attempt `attempt`, 2 or more: `retry.backoff`, doubled for each further one. */
export const pauseMs = (step: StateOf<'ContainerRun'>, attempt: number): number =>
  Math.min(MAX_PAUSE_MS, step.retry.backoff_ms * 2 ** (attempt - 2));

/** Asks for the next attempt, at once or after its pause. */
export function retryContainer(
  run: IdleWorkflow,
  step: StateOf<'ContainerRun'>,
  attempt: number,
  turn: WorkflowTurn,
): Awaiting {
  const pause = pauseMs(step, attempt);
  if (pause === 0) return askContainer(run, step, attempt, turn);
  turn.after(TIMERS.retry, pause, 'RetryContainer', { entry: run.entry });
  return { kind: 'container', effect_id: null, attempt, retry_at: isoTime({ now: turn.now + pause }) };
}
