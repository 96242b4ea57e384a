import { ModelFailure, type ModelPart, type ToolCall } from './call.ts';
import type { ChunkSender } from './chunk-sender.ts';
import type { Patience } from './target-tries.ts';

/** Characters; a model that says more than this is not answering a question. */
const MAX_ANSWER_CHARS = 4 * 1024 * 1024;
const MAX_TOOL_CALLS = 100;

export interface Answer {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finish: Extract<ModelPart, { kind: 'finish' }>;
}

/**
 * Reads one answer to its end and passes the text on while it comes. Throws `ModelFailure`; what `progress` threw goes
 * through unchanged. The caller ends the patience, and with it the socket.
 */
export async function readAnswer(
  parts: AsyncIterable<ModelPart>,
  sender: ChunkSender | undefined,
  patience: Patience,
): Promise<Answer> {
  const texts: string[] = [];
  const toolCalls: ToolCall[] = [];
  let chars = 0;
  let finish: Answer['finish'] | undefined;
  for await (const part of parts) {
    patience.heard();
    if (part.kind === 'text') {
      chars += part.text.length;
      if (chars > MAX_ANSWER_CHARS)
        throw new ModelFailure('refused', `the answer is over ${MAX_ANSWER_CHARS} characters`);
      texts.push(part.text);
      if (sender !== undefined) await patience.hold(sender.push(part.text));
      if (sender?.unwanted) break;
    } else if (part.kind === 'tool_call') {
      if (toolCalls.length >= MAX_TOOL_CALLS) {
        throw new ModelFailure('refused', `the answer has over ${MAX_TOOL_CALLS} tool calls`);
      }
      toolCalls.push({ id: part.id, name: part.name, arguments: part.arguments });
    } else if (part.kind === 'finish') finish = part;
  }
  if (sender !== undefined) await patience.hold(sender.finish());
  if (finish === undefined) throw new ModelFailure('broken', 'the answer stopped in the middle');
  return { text: texts.join(''), toolCalls, finish };
}
