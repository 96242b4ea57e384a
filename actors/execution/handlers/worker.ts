import { z } from 'zod';
import type { EffectProgress, EffectResult } from '../../../runtime/effect.ts';
import { keepHead } from '../bounded-text.ts';
import { completeExecution, failExecution } from '../ending.ts';
import { executionEvents } from '../events.ts';
import { forwardExecution } from '../forwarding.ts';
import { abandonIteration, closeIteration, idleOf } from '../iteration.ts';
import { LIMITS } from '../limits.ts';
import type { ExecutionTurn } from '../messages.ts';
import { awaited } from '../phase.ts';
import type { ExecutionState, Forwarded, RunningExecution } from '../state.ts';

/** One event of the worker's stream. `index` counts this worker's events of the run, from 0. */
const Said = z.object({
  node_id: z.string(),
  index: z.number().int().min(0),
  name: z.string(),
  payload: z.record(z.string(), z.unknown()),
});

type Said = z.output<typeof Said>;

/**
 * Makes an event of the worker an event of the run. Events that this worker sent before are skipped. Another worker starts from
 * the beginning: an iteration that the previous one left open ends in doubt, and the new iterations are numbered after it. An
 * event with an unknown name changes nothing.
 */
export function WorkerSaid(state: ExecutionState, progress: EffectProgress, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'WorkerSaid', progress.effectId);
  const said = Said.safeParse(progress.value);
  if (found === null || !said.success) return state;
  const { node_id, index } = said.data;
  const { forwarded } = found.wait;
  if (forwarded.worker === node_id && index < forwarded.seen) return state;
  const running = forwarded.worker === node_id ? found.running : withWorker(found.running, forwarded, node_id, turn);
  const seen = { ...forwardedOf(running), seen: index + 1 };
  return takeEvent(withForwarded(running, seen), said.data, turn);
}

const forwardedOf = ({ current }: RunningExecution): Forwarded => {
  if (current.forwarded === undefined) throw new Error('the run is not forwarded');
  return current.forwarded;
};

const withForwarded = (running: RunningExecution, forwarded: Forwarded): RunningExecution => ({
  ...running,
  current: { ...running.current, forwarded },
});

function withWorker(
  running: RunningExecution,
  forwarded: Forwarded,
  worker: string,
  turn: ExecutionTurn,
): RunningExecution {
  const { current } = running;
  const message = `worker ${forwarded.worker} was lost`;
  const idle = forwarded.open ? closeIteration(running, { error_type: 'in_doubt', message }, turn) : idleOf(running);
  const next = { ...forwarded, worker, seen: 0, offset: idle.iteration_count, open: false };
  return { ...idle, current: { ...current, forwarded: next } };
}

/** Emits the event with the ids and the numbers of this run. */
function takeEvent(running: RunningExecution, { name, payload }: Said, turn: ExecutionTurn): ExecutionState {
  const forwarded = forwardedOf(running);
  const { execution_id } = running;
  const number = forwarded.offset + Number(payload.iteration_number ?? 0);
  const own = { ...payload, execution_id, iteration_number: number };
  const isOpen = forwarded.open && number === running.iteration_count;
  switch (name) {
    case 'iteration_started': {
      const event = executionEvents.iteration_started.safeParse(own);
      if (!event.success || forwarded.open) return running;
      turn.emit('iteration_started', event.data);
      const next = { ...running, iteration_count: number, updated_at: new Date(turn.now).toISOString() };
      return withForwarded(next, { ...forwarded, open: true });
    }
    case 'iteration_output': {
      const event = executionEvents.iteration_output.safeParse(own);
      if (event.success && isOpen) turn.emit('iteration_output', event.data);
      return running;
    }
    case 'iteration_completed': {
      const event = executionEvents.iteration_completed.safeParse(own);
      if (!event.success || !isOpen) return running;
      turn.emit('iteration_completed', event.data);
      const last_output = keepHead(event.data.output, LIMITS.keptOutputChars);
      return withForwarded({ ...running, last_output, last_error: null }, { ...forwarded, open: false });
    }
    case 'iteration_failed': {
      const event = executionEvents.iteration_failed.safeParse(own);
      if (!event.success || !isOpen) return running;
      const { error_type, message, stacktrace } = event.data.error;
      const idle = closeIteration(running, { error_type, message, stacktrace }, turn);
      return withForwarded({ ...idle, current: running.current }, { ...forwarded, open: false });
    }
    case 'refinement_applied': {
      const event = executionEvents.refinement_applied.safeParse(own);
      if (event.success && !forwarded.open) turn.emit('refinement_applied', event.data);
      return running;
    }
    default:
      return takeEnd(running, name, payload, turn);
  }
}

const Completed = z.object({ final_output: z.string() });

const Failed = z.object({ reason: z.string().min(1).max(200), message: z.string().optional() });

function takeEnd(
  running: RunningExecution,
  name: string,
  payload: Said['payload'],
  turn: ExecutionTurn,
): ExecutionState {
  const completed = name === 'execution_completed' ? Completed.safeParse(payload) : null;
  const failed = name === 'execution_failed' ? Failed.safeParse(payload) : null;
  if (completed?.success === true && !forwardedOf(running).open) {
    const { final_output } = completed.data;
    turn.cancelEffect(running.current.effect_id);
    const last_output = keepHead(final_output, LIMITS.keptOutputChars);
    return completeExecution({ ...idleOf(running), last_output, last_error: null }, final_output, 1, turn);
  }
  if (failed?.success !== true) return running;
  const { reason, message } = failed.data;
  turn.cancelEffect(running.current.effect_id);
  const status = reason === 'cancelled' ? 'cancelled' : 'failed';
  const text = message ?? running.last_error ?? reason;
  if (forwardedOf(running).open) {
    return abandonIteration(running, { error_type: reason, message: text }, { status, reason }, turn);
  }
  const last_error = running.last_error ?? keepHead(`${reason}: ${text}`, LIMITS.keptErrorChars);
  return failExecution({ ...idleOf(running), last_error }, status, reason, turn);
}

const Lost = z.object({ lost: z.object({ node_id: z.string(), message: z.string() }) });

/** The worker's stream ended before the run did: the worker was lost, or no worker accepted the run. */
export function WorkerEnded(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'WorkerEnded', result.effectId);
  if (found === null) return state;
  const { running } = found;
  const { outcome } = result;
  if (outcome.kind === 'failed') {
    const { code, message } = outcome;
    return abandonIteration(running, { error_type: code, message }, { status: 'failed', reason: code }, turn);
  }
  if (outcome.kind === 'in_doubt') return lost(running, 'the controller that followed the worker died', turn);
  const said = Lost.safeParse(outcome.value);
  const message = said.success
    ? `worker ${said.data.lost.node_id} was lost: ${said.data.lost.message}`
    : 'the stream of the worker ended without the last event of the run';
  return lost(running, message, turn);
}

/** It is unknown what the worker did. By default the run continues, on this worker if it returns, or on another one. */
function lost(running: RunningExecution, message: string, turn: ExecutionTurn): ExecutionState {
  const { current } = running;
  const forwarded = forwardedOf(running);
  if (forwarded.on_lost === 'fail' || current.in_doubt >= LIMITS.inDoubtRepeatsInAll) {
    return abandonIteration(
      running,
      { error_type: 'in_doubt', message },
      { status: 'failed', reason: 'in_doubt' },
      turn,
    );
  }
  const asked = forwardExecution({ ...idleOf(running), in_doubt: running.in_doubt + 1 }, forwarded, turn);
  return { ...asked, current: { ...asked.current, in_doubt: current.in_doubt + 1 } };
}
