import type { StimulusTurn } from './messages.ts';
import type { Known, Outcome, RoutingMode, Settled } from './state.ts';

export const CLASSIFICATION_TIMER = 'classification';
export const timeOf = (turn: StimulusTurn): string => new Date(turn.now).toISOString();

/** The delivery that an effect or an execution was asked for, from the context that comes back with its result. */
export const stimulusOf = (context: unknown): unknown =>
  typeof context === 'object' && context !== null && 'stimulus_id' in context ? context.stimulus_id : undefined;

function settled({ delivery, expires_at, emitted }: Known, outcome: Outcome): Settled {
  return { status: 'settled', delivery, expires_at, emitted: emitted + 1, outcome };
}

/** Its workflow is started. */
export function routed(
  state: Known,
  routing: RoutingMode,
  workflow: { readonly workflow_id: string; readonly name: string },
  turn: StimulusTurn,
): Settled {
  const { stimulus_id, workflow_execution_id } = state.delivery;
  turn.emit('StimulusClassified', {
    stimulus_id,
    workflow_execution_id,
    workflow_id: workflow.workflow_id,
    workflow_name: workflow.name,
    routing_mode: routing.mode,
    confidence: routing.mode === 'Deterministic' ? 1 : routing.confidence,
    classified_at: timeOf(turn),
  });
  return settled(state, { kind: 'routed', workflow_id: workflow.workflow_id, workflow_name: workflow.name });
}

/** Nothing is started for it. */
export function rejected(
  state: Known,
  code: 'no_router_configured' | 'validation_failed' | 'workflow_error',
  reason: string,
  turn: StimulusTurn,
): Settled {
  const { stimulus_id } = state.delivery;
  turn.emit('StimulusRejected', { stimulus_id, code, reason, rejected_at: timeOf(turn) });
  return settled(state, { kind: 'rejected', code, reason });
}

/** Nobody could say which workflow it is for. `workflow_error`: the router agent itself failed (spec 1: INTERNAL). */
export function unclassified(
  state: Known,
  code: 'classification_failed' | 'workflow_error',
  error: string,
  turn: StimulusTurn,
): Settled {
  const { stimulus_id } = state.delivery;
  turn.emit('ClassificationFailed', { stimulus_id, code, error, failed_at: timeOf(turn) });
  return settled(state, { kind: 'rejected', code, reason: error });
}
