import { z } from 'zod';
import type { ActorEvent } from '../../runtime/client.ts';
import { asJsonObject, type JsonObject } from '../../runtime/json.ts';

/**
 * Events of an execution, the same over gRPC (G6) and SSE (H12). Keys and their order are those of the wire; both
 * transports map these objects one to one.
 */
const id = { execution_id: z.string() };

const iteration = { ...id, iteration_number: z.number().int().min(1) };

export const executionEvents = {
  execution_started: z.object({ ...id, agent_id: z.string(), started_at: z.string() }),
  iteration_started: z.object({ ...iteration, action: z.string(), started_at: z.string() }),
  iteration_output: z.object({ ...iteration, output: z.string() }),
  iteration_completed: z.object({ ...iteration, output: z.string(), completed_at: z.string() }),
  iteration_failed: z.object({
    ...iteration,
    error: z.object({ error_type: z.string(), message: z.string(), stacktrace: z.string().optional() }),
    failed_at: z.string(),
  }),
  refinement_applied: z.object({ ...iteration, code_diff: z.string(), applied_at: z.string() }),
  execution_completed: z.object({
    ...id,
    final_output: z.string(),
    total_iterations: z.number().int(),
    completed_at: z.string(),
  }),
  execution_failed: z.object({
    ...id,
    /** A code of the error table. */
    reason: z.string(),
    total_iterations: z.number().int(),
    failed_at: z.string(),
    /** One sentence with the cause; absent in events of earlier versions. */
    message: z.string().optional(),
  }),
} as const;

export type ExecutionEventName = keyof typeof executionEvents;

/** One entry of `svc.task.logs` (W36). */
export interface ExecutionLogEvent {
  readonly sequence: number;
  readonly event_type: string;
  readonly payload: JsonObject;
  /** ISO 8601. */
  readonly recorded_at: string;
}

/** Names in logs of the events of the stream (W21). */
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

/** The stream as a log, in the same order and with the same numbers; a piece of output is `{…, chunk}`. */
export function executionLogEvents(events: readonly ActorEvent[]): ExecutionLogEvent[] {
  return events.map((event) => ({
    sequence: event.seq,
    event_type: isEventName(event.name) ? LOG_NAMES[event.name] : event.name,
    payload: event.name === 'iteration_output' ? withChunk(asJsonObject(event.payload)) : asJsonObject(event.payload),
    recorded_at: new Date(event.at).toISOString(),
  }));
}

function isEventName(name: string): name is ExecutionEventName {
  return Object.hasOwn(LOG_NAMES, name);
}

function withChunk({ output, ...rest }: JsonObject): JsonObject {
  return { ...rest, chunk: output ?? '' };
}
