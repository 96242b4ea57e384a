import type { ActorEvent } from '../../runtime/client.ts';
import type { JsonObject } from '../../runtime/json.ts';

/** One entry of svc.workflow.logs (spec 3). */
export interface WorkflowLogEvent {
  readonly sequence: number;
  readonly event_type: string;
  readonly state_name: string | null;
  /** Iterations are in the logs of the agents' executions: null here. */
  readonly iteration_number: number | null;
  readonly payload: JsonObject;
  /** ISO 8601. */
  readonly recorded_at: string;
}

/** The stream as a log: same order and numbers. */
export function workflowLogEvents(events: readonly ActorEvent[]): WorkflowLogEvent[] {
  return events.map(({ seq, at, name, payload }) => {
    const shown: JsonObject =
      payload !== null && typeof payload === 'object' && !Array.isArray(payload) ? payload : { value: payload };
    const state = shown.state_name ?? shown.parent_state_name;
    return {
      sequence: seq,
      event_type: name,
      state_name: typeof state === 'string' ? state : null,
      iteration_number: null,
      payload: shown,
      recorded_at: new Date(at).toISOString(),
    };
  });
}
