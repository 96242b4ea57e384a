import type { ActorEvent } from '../../runtime/client.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { ExecutionEventName } from './events.ts';

/** One entry of `svc.task.logs` (spec 3). */
export interface ExecutionLogEvent {
  readonly sequence: number;
  readonly event_type: string;
  readonly payload: JsonObject;
  /** ISO 8601. */
  readonly recorded_at: string;
}

/** Names of spec 3 for the events of the stream. */
const LOG_NAMES: Readonly<Record<ExecutionEventName, string>> = {
  execution_started: 'ExecutionStarted',
  iteration_started: 'IterationStarted',
  iteration_output: 'ExecutionOutputReceived',
  iteration_completed: 'IterationCompleted',
  iteration_failed: 'IterationFailed',
  refinement_applied: 'RefinementApplied',
  execution_completed: 'ExecutionCompleted',
  execution_failed: 'ExecutionFailed',
};

/** The stream as a log: same order and numbers; a piece of output is `{…, chunk}`. */
export function executionLogEvents(events: readonly ActorEvent[]): ExecutionLogEvent[] {
  return events.map((event) => ({
    sequence: event.seq,
    event_type: isEventName(event.name) ? LOG_NAMES[event.name] : event.name,
    payload: event.name === 'iteration_output' ? withChunk(payloadOf(event)) : payloadOf(event),
    recorded_at: new Date(event.at).toISOString(),
  }));
}

function isEventName(name: string): name is ExecutionEventName {
  return Object.hasOwn(LOG_NAMES, name);
}

function payloadOf(event: ActorEvent): JsonObject {
  const { payload } = event;
  return payload !== null && typeof payload === 'object' && !Array.isArray(payload) ? payload : { value: payload };
}

function withChunk({ output, ...rest }: JsonObject): JsonObject {
  return { ...rest, chunk: output ?? '' };
}
