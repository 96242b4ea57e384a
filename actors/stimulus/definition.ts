import { defineActor } from '../../runtime/define-actor.ts';
import { askRouter, ClassificationTimedOut, RouterSaid, RouterStarted } from './classifying.ts';
import {
  type Known,
  type Receive as ReceiveMessage,
  StimulusState,
  type StimulusTurn,
  stimulusEvents,
  stimulusMessages,
} from './messages.ts';
import { rejected, startWorkflow, timeOf, WorkflowStarted } from './starting.ts';
import { duplicateDetails, projectStimulus, STIMULI } from './view.ts';

const WINDOW_TIMER = 'window';

/**
 * The first delivery gets its ids and is routed; a repeat within the window gets the ids of the first. A rejected delivery has
 * started nothing, so the next one counts as new.
 */
function Receive(state: StimulusState, receive: ReceiveMessage, turn: StimulusTurn): StimulusState {
  const { identity } = turn;
  if (identity === null) return turn.refuse('forbidden', 'identity: missing; a stimulus needs an authenticated caller');
  if (state.status !== 'new' && isDuplicate(state, turn.now)) return repeated(state, receive, turn);
  const { source, window_ms, routing } = receive;
  const after = state.status === 'new' ? 0 : state.emitted;
  const delivery = {
    stimulus_id: turn.newId(),
    workflow_execution_id: turn.newId(),
    source,
    received_at: timeOf(turn),
    identity,
  };
  const { stimulus_id, workflow_execution_id, received_at } = delivery;
  turn.emit('StimulusReceived', { stimulus_id, source, received_at });
  turn.after(WINDOW_TIMER, window_ms, 'Forget', {});
  turn.reply({ stimulus_id, workflow_execution_id, after });
  const known = { delivery, expires_at: turn.now + window_ms, emitted: after + 1 };
  if (routing.kind === 'router') return askRouter(known, receive, routing, turn);
  if (routing.kind === 'direct')
    return startWorkflow(known, receive, { mode: 'Deterministic' }, routing.workflow, turn);
  const unrouted: StimulusState = { ...known, status: 'settled', outcome: NOT_ROUTED };
  return rejected(unrouted, NOT_ROUTED.code, NOT_ROUTED.reason, turn);
}

const NOT_ROUTED = {
  kind: 'rejected',
  code: 'no_router_configured',
  reason: 'there is no direct route for this source and no router agent',
} as const;

/** Timers may be late while a node is being replaced, so the turn's time decides. */
function isDuplicate(state: Known, now: number): boolean {
  if (state.status === 'over') return false;
  if (state.status !== 'settled') return true;
  return state.outcome.kind === 'routed' && now < state.expires_at;
}

/** A repeat starts nothing. While the first delivery is in progress its outcome is unknown, so the API waits for it. */
function repeated(state: Known, { repeat }: ReceiveMessage, turn: StimulusTurn): StimulusState {
  const { status, delivery, emitted } = state;
  const { stimulus_id, workflow_execution_id } = delivery;
  if (repeat !== 'answer') return refuseDuplicate(stimulus_id, workflow_execution_id, turn);
  const first = status === 'settled' ? 'routed' : 'pending';
  turn.reply({ stimulus_id, workflow_execution_id, after: emitted, first });
  return state;
}

function refuseDuplicate(original_stimulus_id: string, workflow_execution_id: string, turn: StimulusTurn): never {
  return turn.refuse(
    'idempotent_duplicate',
    `The same delivery was processed before, as stimulus ${original_stimulus_id}.`,
    duplicateDetails({ original_stimulus_id, workflow_execution_id }),
  );
}

/** settled → over. A delivery in progress stays until it has settled. */
function Forget(state: StimulusState, _message: object, turn: StimulusTurn): StimulusState {
  if (state.status === 'settled') return { ...state, status: 'over' };
  if (state.status !== 'new' && state.status !== 'over') turn.after(WINDOW_TIMER, STILL_ON_ITS_WAY_MS, 'Forget', {});
  return state;
}

const STILL_ON_ITS_WAY_MS = 60_000;

/**
 * The deliveries of one (tenant, source, idempotency key), of which one starts a workflow (G14). After its window only its list
 * entry remains, and the key can be used again.
 */
export const stimulusActor = defineActor({
  kind: 'stimulus',
  version: 1,
  pool: 'system',
  state: StimulusState,
  initial: () => ({ status: 'new' as const }),
  messages: stimulusMessages,
  events: stimulusEvents,
  creates: ['Receive'],
  on: { Receive, RouterStarted, RouterSaid, ClassificationTimedOut, WorkflowStarted, Forget },
  view: { collection: STIMULI.name, indexes: STIMULI.indexes, project: projectStimulus },
  done: ({ status }) => status === 'over',
  retainedAs: 'stimuli',
  keepsArchive: false,
});
