import { z } from 'zod';
import type { EffectResult } from '../../runtime/effect.ts';
import { type Json, type JsonObject, jsonObjectIn } from '../../runtime/json.ts';
import { keepHead } from '../execution/bounded-text.ts';
import { LIMITS } from '../workflow/limits.ts';
import type { Known, Outcome, RoutingMode, Settled, Starting, StimulusState, StimulusTurn } from './messages.ts';

const RETRY = { maxAttempts: 5, initialDelayMs: 200, maxDelayMs: 5_000 } as const;

const ATTEMPT_TIMEOUT_MS = 30_000;

/** The intent of the run, for people and prompts; the whole content is its input. Leaves room for the note that it was cut. */
const INTENT_CHARS = LIMITS.intentChars - 100;

/** Starts its workflow; a repeated effect starts no second execution. */
export function startWorkflow(
  { delivery, expires_at, emitted }: Omit<Known, 'status'>,
  content: Content,
  routing: RoutingMode,
  workflow: string,
  turn: StimulusTurn,
): Starting {
  const { stimulus_id, workflow_execution_id, source, identity } = delivery;
  turn.effect({
    kind: 'workflow.start',
    mode: 'repeatable',
    input: {
      execution_id: workflow_execution_id,
      workflow,
      intent: keepHead(content.content, INTENT_CHARS),
      input: workflowInput(content),
      blackboard: { stimulus: { id: stimulus_id, source, headers: { ...content.headers } } },
      ancestors: [],
      identity,
    },
    replyAs: 'WorkflowStarted',
    context: { stimulus_id },
    retry: RETRY,
    timeoutMs: ATTEMPT_TIMEOUT_MS,
  });
  return { status: 'starting', delivery, expires_at, emitted, routing, workflow };
}

const Started = z.object({ workflow_id: z.string(), name: z.string() });

/** starting → settled. */
export function WorkflowStarted(state: StimulusState, result: EffectResult, turn: StimulusTurn): StimulusState {
  const { outcome } = result;
  if (state.status !== 'starting' || stimulusOf(result.context) !== state.delivery.stimulus_id) return state;
  const { routing, workflow } = state;
  if (outcome.kind === 'done') return routed(state, routing, Started.parse(outcome.value), turn);
  if (outcome.kind === 'in_doubt') return rejected(state, 'workflow_error', 'it is unknown whether it started', turn);
  // The sender's fault: the content does not fit the schema, or as JSON exceeds the limit of a run's input.
  if (outcome.code === 'validation_failed' || outcome.code === 'payload_too_large')
    return rejected(state, outcome.code, outcome.message, turn);
  if (outcome.code !== 'not_found') {
    return rejected(state, 'workflow_error', `workflow ${workflow} was not started: ${outcome.message}`, turn);
  }
  return routing.mode === 'Deterministic'
    ? rejected(state, 'workflow_error', `the route of this source names workflow ${workflow}, which is unknown`, turn)
    : unclassified(
        state,
        'classification_failed',
        `the router agent named workflow ${workflow}, which is unknown`,
        turn,
      );
}

export const CLASSIFICATION_TIMER = 'classification';

export const timeOf = (turn: StimulusTurn): string => new Date(turn.now).toISOString();

/** The delivery of an effect or an execution, from the context that returns with its result. */
export const stimulusOf = (context: unknown): unknown =>
  typeof context === 'object' && context !== null && 'stimulus_id' in context ? context.stimulus_id : undefined;

function settled({ delivery, expires_at, emitted }: Known, outcome: Outcome): Settled {
  return { status: 'settled', delivery, expires_at, emitted: emitted + 1, outcome };
}

/** Its workflow is started. */
function routed(
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

/** It is rejected and starts nothing. */
export function rejected(
  state: Known,
  code: 'no_router_configured' | 'validation_failed' | 'payload_too_large' | 'workflow_error',
  reason: string,
  turn: StimulusTurn,
): Settled {
  const { stimulus_id } = state.delivery;
  turn.emit('StimulusRejected', { stimulus_id, code, reason, rejected_at: timeOf(turn) });
  return settled(state, { kind: 'rejected', code, reason });
}

/** The workflow could not be determined. `workflow_error`: the router agent itself failed (INTERNAL, G14). */
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

/** Deeper JSON is handled as text, so that later code can recurse into it safely. */
const MAX_DEPTH = 100;

interface Content {
  readonly content: string;
  readonly content_encoding?: 'base64' | undefined;
  /** Lower-case names; headers with secrets are omitted. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Input of the workflow (H23): the content when it is a JSON object, else `{content}`. */
export function workflowInput({ content, content_encoding }: Omit<Content, 'headers'>): JsonObject {
  if (content_encoding !== undefined) return { content, content_encoding };
  const object = jsonObjectIn(content);
  return object !== null && isTame(object, MAX_DEPTH) ? object : { content };
}

/**
 * Whether the value has at most this number of levels. Members named like a prototype are removed, so that no part can act as
 * one when it is copied later. A walk after the parser takes a twentieth of the time of a reviver, which is called for every
 * value.
 */
function isTame(value: Json, levels: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (levels === 0) return false;
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  const inner = Array.isArray(value) ? value : Object.values(value);
  return inner.every((one) => isTame(one, levels - 1));
}
