import type { Json, JsonObject } from '../../../runtime/json.ts';
import { keepHead } from '../bounded-text.ts';
import { MODEL_RETRY } from '../effects.ts';
import type { ExecutionTurn } from '../messages.ts';
import { hasOwnBootstrap, wantsTools } from '../plan.ts';
import { principalPart } from '../principal.ts';
import type { RunningExecution } from '../state.ts';
import { nextRound } from '../streamed.ts';
import { endOfIteration } from '../time-left.ts';
import { LOOP } from './limits.ts';
import { withLoop } from './loop-of.ts';
import type { Loop } from './state.ts';
import { SYSTEM_MESSAGE } from './system-message.ts';

const GRANT = { timeoutMs: 60_000, retry: { maxAttempts: 4, initialDelayMs: 500, maxDelayMs: 5_000 } } as const;

type Beginning = Pick<Loop, 'by' | 'request' | 'model' | 'messages'> & Partial<Pick<Loop, 'earlier_rounds'>>;

/** A loop of the running iteration: its tools are granted first when they are wanted and not pinned yet. */
export function beginLoop(running: RunningExecution, beginning: Beginning, turn: ExecutionTurn): RunningExecution {
  const loop: Loop = {
    earlier_rounds: 0,
    ...beginning,
    round: 0,
    phase: 'granting',
    effect_id: null,
    calls: [],
    executed: 0,
    ended_dispatches: [],
    failure: null,
  };
  const begun = { ...running, current: { ...running.current, loop } };
  if (!wantsTools(running.plan) || running.grant !== undefined) return askModel(begun, turn);
  const effect_id = turn.effect({
    kind: 'tools.grant',
    mode: 'repeatable',
    ahead: true,
    input: plain(running.plan.tools),
    replyAs: 'ToolsGranted',
    context: { iteration: running.iteration_count },
    ...GRANT,
  });
  return withLoop(begun, { effect_id });
}

/** The next round. */
export function askModel(running: RunningExecution, turn: ExecutionTurn): RunningExecution {
  const { loop, streamed } = running.current;
  if (loop === undefined) return running;
  const leftMs = Math.max(1, endOfIteration(running) - turn.now);
  const effect_id = turn.effect({
    kind: 'model.generate',
    mode: 'repeatable',
    ahead: true,
    input: modelInput(running, loop),
    replyAs: 'ModelAnswered',
    // A bootstrap of the agent's own says itself what is streamed.
    ...(hasOwnBootstrap(running.plan) ? {} : { progressAs: 'ModelChunk' as const }),
    context: { iteration: running.iteration_count, round: loop.round + 1 },
    retry: MODEL_RETRY,
    timeoutMs: Math.min(leftMs, running.plan.llm_timeout_seconds * 1_000),
  });
  const current = loop.round === 0 ? running.current : { ...running.current, streamed: nextRound(streamed) };
  const next: Partial<Loop> = { effect_id, phase: 'model', round: loop.round + 1, calls: [], failure: null };
  return withLoop({ ...running, current }, next);
}

function modelInput(running: RunningExecution, loop: Loop): JsonObject {
  const { temperature } = running.plan;
  const tools = (running.grant?.tools ?? []).slice(0, LOOP.tools).map(({ name, description, input_schema }) => ({
    name,
    description: keepHead(description, LOOP.descriptionChars),
    input_schema,
  }));
  return {
    model: loop.model,
    ...(tools.length === 0 ? {} : { system: SYSTEM_MESSAGE, tools }),
    messages: [...loop.messages],
    ...(loop.earlier_messages === undefined ? {} : { earlier: loop.earlier_messages.map(({ ref }) => ref) }),
    // A bootstrap is given its whole conversation from the state.
    ...(loop.by === 'node' ? { keep_aside: true } : {}),
    iteration: running.iteration_count,
    ...(temperature === null ? {} : { temperature }),
    ...principalPart(running),
  };
}

/** Optional fields may be present and undefined; JSON has no undefined. */
export function plain(value: object): JsonObject {
  const json: Json = JSON.parse(JSON.stringify(value));
  return json !== null && typeof json === 'object' && !Array.isArray(json) ? json : {};
}
