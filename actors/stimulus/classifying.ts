import { z } from 'zod';
import { addressOf } from '../../runtime/address.ts';
import type { EffectResult } from '../../runtime/effect.ts';
import { keepHead } from '../execution/bounded-text.ts';
import type { ExecutionUpdate } from '../execution/update.ts';
import type { Classifying, Known, Receive, Routing, StimulusState, StimulusTurn } from './messages.ts';
import { CLASSIFICATION_TIMER, startWorkflow, stimulusOf, unclassified } from './starting.ts';

const RETRY = { maxAttempts: 3, initialDelayMs: 200, maxDelayMs: 2_000 } as const;

/** The content in the router's input. With its escapes it fits the input of an execution. */
const ROUTER_CONTENT_CHARS = 128 * 1024;

/** Starts the router agent, an execution like any other, with a time limit. */
export function askRouter(
  { delivery, expires_at, emitted }: Omit<Known, 'status'>,
  { source, content, content_encoding, headers }: Receive,
  { agent, threshold, timeout_ms }: Extract<Routing, { kind: 'router' }>,
  turn: StimulusTurn,
): Classifying {
  const { stimulus_id, identity } = delivery;
  const executionId = turn.newId();
  const effectId = turn.effect({
    kind: 'agent.start',
    mode: 'repeatable',
    input: {
      execution_id: executionId,
      agent,
      input: routerInput({ source, content, headers }, turn.tenant),
      notify: { to: turn.self, as: 'RouterSaid', context: { stimulus_id } },
      identity,
    },
    replyAs: 'RouterStarted',
    context: { stimulus_id },
    retry: RETRY,
    timeoutMs: timeout_ms,
  });
  turn.after(CLASSIFICATION_TIMER, timeout_ms, 'ClassificationTimedOut', { stimulus_id });
  return {
    status: 'classifying',
    delivery,
    expires_at,
    emitted,
    content,
    content_encoding,
    headers,
    router_execution_id: executionId,
    effect_id: effectId,
    threshold,
  };
}

const isAbout = (state: StimulusState, stimulusId: unknown): state is Classifying =>
  state.status === 'classifying' && state.delivery.stimulus_id === stimulusId;

/** Handles only a failed start: an agent that has started sends updates. */
export function RouterStarted(state: StimulusState, result: EffectResult, turn: StimulusTurn): StimulusState {
  const { outcome } = result;
  if (!isAbout(state, stimulusOf(result.context)) || outcome.kind === 'done') return state;
  turn.clear(CLASSIFICATION_TIMER);
  const why = outcome.kind === 'failed' ? outcome.message : 'it is unknown whether it started';
  return unclassified(state, 'workflow_error', `the router agent was not started: ${why}`, turn);
}

/** classifying → starting, or settled when the answer names no workflow. */
export function RouterSaid(state: StimulusState, update: ExecutionUpdate, turn: StimulusTurn): StimulusState {
  const wanted = isAbout(state, stimulusOf(update.context)) && state.router_execution_id === update.execution_id;
  if (!wanted) {
    // Too late: the answer is not read.
    if (update.status === 'running') cancelRouter(update.execution_id, turn);
    return state;
  }
  if (update.status === 'running') return state;
  turn.clear(CLASSIFICATION_TIMER);
  if (update.status !== 'completed') {
    const why = update.reason ?? update.status;
    return unclassified(state, 'workflow_error', `the router agent failed: ${why}`, turn);
  }
  const read = readRouterAnswer(update.output ?? '');
  if (!read.ok) {
    return unclassified(
      state,
      'classification_failed',
      `the answer of the router agent is not usable: ${read.problem}`,
      turn,
    );
  }
  const { workflow, confidence } = read.answer;
  if (confidence < state.threshold) {
    const error = `the router agent's confidence is ${confidence}, expected at least ${state.threshold}`;
    return unclassified(state, 'classification_failed', error, turn);
  }
  return startWorkflow(state, state, { mode: 'LlmClassified', confidence }, workflow, turn);
}

/** classifying → settled; the agent is cancelled, now or when it reports its start. */
export function ClassificationTimedOut(
  state: StimulusState,
  { stimulus_id }: { readonly stimulus_id: string },
  turn: StimulusTurn,
): StimulusState {
  if (!isAbout(state, stimulus_id)) return state;
  turn.cancelEffect(state.effect_id);
  cancelRouter(state.router_execution_id, turn);
  return unclassified(state, 'workflow_error', 'the router agent did not answer in time', turn);
}

function cancelRouter(executionId: string, turn: StimulusTurn): void {
  turn.tell(addressOf('execution', turn.tenant, executionId), 'Cancel', {});
}

/** Answer of the router agent (H23), without any other fields. */
const RouterAnswer = z.strictObject({
  workflow: z.string().trim().min(1).max(200),
  confidence: z.number().min(0).max(1),
  reasoning: z.string().max(65_536),
});

type RouterAnswer = z.output<typeof RouterAnswer>;

type ReadAnswer =
  | { readonly ok: true; readonly answer: RouterAnswer }
  | { readonly ok: false; readonly problem: string };

const FENCED = /^```[A-Za-z0-9]*[ \t]*\r?\n([\s\S]*?)\r?\n?```$/;

const MAX_CHARS = 100_000;

/** Reads the router's output: a JSON object alone, with or without a code fence around it. */
export function readRouterAnswer(output: string): ReadAnswer {
  const text = output.trim();
  if (text.length > MAX_CHARS) return { ok: false, problem: `it has more than ${MAX_CHARS} characters` };
  let value: unknown;
  try {
    value = JSON.parse(FENCED.exec(text)?.[1] ?? text);
  } catch {
    return { ok: false, problem: 'it is not JSON' };
  }
  const read = RouterAnswer.safeParse(value);
  if (read.success) return { ok: true, answer: read.data };
  const issue = read.error.issues[0];
  return { ok: false, problem: `${issue?.path.join('.') ?? ''} ${issue?.message ?? 'malformed'}`.trim() };
}

/** Input of the router agent (H23). */
const routerInput = (
  stimulus: { readonly source: string; readonly content: string; readonly headers: Readonly<Record<string, string>> },
  tenant: string,
): string =>
  JSON.stringify({
    stimulus: { ...stimulus, content: keepHead(stimulus.content, ROUTER_CONTENT_CHARS) },
    tenant_id: tenant,
  });
