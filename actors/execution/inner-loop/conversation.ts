import type { Json, JsonObject } from '../../../runtime/json.ts';
import { keepHead } from '../bounded-text.ts';
import type { ModelAnswer } from '../model-answer.ts';
import { LOOP } from './limits.ts';
import type { Loop, LoopCall } from './state.ts';

export const userMessage = (content: string): JsonObject => ({ role: 'user', content });

export const finalMessage = (content: string): JsonObject => ({ role: 'assistant', content });

/** A turn of the model that asks for tools. */
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

/** Answers of a turn whose calls have all ended, in the model's order. */
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

/** The conversation when the model has asked for tools: what it was asked with may be in Blobs by now. */
export function withAside(
  { messages, earlier_messages = [] }: Said,
  { aside }: Pick<ModelAnswer, 'aside'>,
  asking: JsonObject,
): Said {
  if (aside === undefined || aside.messages !== messages.length) return { messages: [...messages, asking] };
  const { ref, bytes } = aside;
  return { messages: [asking], earlier_messages: withinBound([...earlier_messages, { ref, bytes }]) };
}

/** The first part, which has the task, and of the others the newest that have a place. Each has whole turns. */
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

/** Within its bound: the oldest results and arguments are left out first, and say so. The last turn is kept. */
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
    call !== null && typeof call === 'object' && !Array.isArray(call)
      ? { ...call, arguments: { left_out: 'arguments of an earlier call' } }
      : call,
  );
  return { ...message, tool_calls };
}
