import { isJsonObject, type Json, type JsonObject, plainObject } from '../../../runtime/json.ts';
import { keepHead } from '../bounded-text.ts';
import { MODEL_RETRY } from '../effects.ts';
import { endOfIteration } from '../ending.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ModelAnswer } from '../model-answer.ts';
import { loopOf, withLoop } from '../phase.ts';
import { hasOwnBootstrap, wantsTools } from '../plan.ts';
import { principalPart, type RunningExecution } from '../state.ts';
import { nextRound } from '../streamed.ts';
import { LOOP, type Loop, type LoopCall } from './state.ts';

const GRANT = { timeoutMs: 60_000, retry: { maxAttempts: 4, initialDelayMs: 500, maxDelayMs: 5_000 } } as const;

type Beginning = Pick<Loop, 'by' | 'request' | 'model' | 'messages'> & Partial<Pick<Loop, 'earlier_rounds'>>;

/** Begins a loop in the running iteration. When the agent uses tools and has no grant yet, the grant is requested first. */
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
    input: plainObject(running.plan.tools),
    replyAs: 'ToolsGranted',
    context: { iteration: running.iteration_count },
    ...GRANT,
  });
  return withLoop(begun, { effect_id });
}

/** Asks the model for the next round. */
export function askModel(running: RunningExecution, turn: ExecutionTurn): RunningExecution {
  const { streamed } = running.current;
  const loop = loopOf(running);
  const leftMs = Math.max(1, endOfIteration(running) - turn.now);
  const effect_id = turn.effect({
    kind: 'model.generate',
    mode: 'repeatable',
    ahead: true,
    input: modelInput(running, loop),
    replyAs: 'ModelAnswered',
    // An agent's own bootstrap decides what is streamed.
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
    // A bootstrap gets its whole conversation back, which is read from the state.
    ...(loop.by === 'node' ? { keep_aside: true } : {}),
    iteration: running.iteration_count,
    ...(temperature === null ? {} : { temperature }),
    ...principalPart(running),
  };
}

/** System message of a model that has tools (W28), in addition to the agent's own text. */
export const SYSTEM_MESSAGE = `You work with tools. Ask for one when you need to read, change or look up something; you may ask for several in one turn.
Where a tool exists for a task, such as reading, writing, editing or searching files, use it rather than running a command that does the same.
A result that begins with "Error" did not succeed. When it says that something is not available, do not ask for it again: find another way, or say what is missing.
Relative paths are below /workspace. When you are done, answer with the final text and ask for no tool.`;

export const userMessage = (content: string): JsonObject => ({ role: 'user', content });

export const finalMessage = (content: string): JsonObject => ({ role: 'assistant', content });

/** The assistant message of an answer that requests tools. */
export function askingMessage(
  text: string,
  calls: readonly { id: string; name: string; arguments: Json }[],
): JsonObject {
  return {
    role: 'assistant',
    content: keepHead(text, LOOP.assistantChars),
    tool_calls: calls.map((call) => ({ ...call })),
  };
}

/** Tool messages for the calls of one answer, all of which have ended, in the model's order. */
export function toolMessages(calls: readonly Pick<LoopCall, 'id' | 'name' | 'answer'>[]): JsonObject[] {
  return calls.map(({ id, name, answer }) => ({
    role: 'tool',
    content: answer?.content ?? '',
    tool_call_id: id,
    tool_name: name,
    ...(answer?.content_ref === undefined ? {} : { content_ref: answer.content_ref }),
  }));
}

const EARLIER_PARTS = 150;

type Said = Pick<Loop, 'messages' | 'earlier_messages'>;

/** The conversation with the model's request for tools. The earlier messages may have been stored as a blob meanwhile. */
export function withStoredPart(
  { messages, earlier_messages = [] }: Said,
  { aside }: Pick<ModelAnswer, 'aside'>,
  asking: JsonObject,
): Said {
  if (aside === undefined || aside.messages !== messages.length) return { messages: [...messages, asking] };
  const { ref, bytes } = aside;
  return { messages: [asking], earlier_messages: withinBound([...earlier_messages, { ref, bytes }]) };
}

/** The first part, which has the task, and as many of the newest others as fit. Each part holds whole turns. */
function withinBound(parts: NonNullable<Said['earlier_messages']>): NonNullable<Said['earlier_messages']> {
  const [first, ...rest] = parts;
  if (first === undefined) return parts;
  let left: number = LOOP.conversationBytes - first.bytes;
  let full = false;
  const kept = rest
    .slice(-EARLIER_PARTS)
    .toReversed()
    .filter(({ bytes }) => {
      left -= bytes;
      full ||= left < 0;
      return !full;
    });
  return [first, ...kept.toReversed()];
}

const LEFT_OUT_ABOVE = 200;

/**
 * The conversation within its limit: the oldest results and arguments are replaced by a note. The last turn is kept.
 */
export function bounded(messages: readonly JsonObject[]): JsonObject[] {
  const sizes = messages.map((message) => Buffer.byteLength(JSON.stringify(message)));
  let over = sizes.reduce((sum, size) => sum + size, 0) - LOOP.conversationBytes;
  if (over <= 0) return [...messages];
  const lastTurn = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.map((message, at) => {
    if (over <= 0 || at >= lastTurn || (sizes[at] ?? 0) <= LEFT_OUT_ABOVE) return message;
    const shorter = shortened(message);
    over -= (sizes[at] ?? 0) - Buffer.byteLength(JSON.stringify(shorter));
    return shorter;
  });
}

function shortened({ content_ref: _ref, ...message }: JsonObject): JsonObject {
  if (message.role === 'tool')
    return { ...message, content: '[left out: an earlier result, ask again if it is needed]' };
  if (!Array.isArray(message.tool_calls)) return message;
  const tool_calls = message.tool_calls.map((call) =>
    isJsonObject(call) ? { ...call, arguments: { left_out: 'arguments of an earlier call' } } : call,
  );
  return { ...message, tool_calls };
}
