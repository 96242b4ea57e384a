import {
  generateText,
  jsonSchema,
  type LanguageModelUsage,
  type FinishReason as SdkFinishReason,
  type ModelMessage as SdkMessage,
  streamText,
  type ToolSet,
  tool,
} from 'ai';
import type { JsonObject } from '../../runtime/json.ts';
import { toModelFailure } from './ai-sdk-failure.ts';
import { openProvider } from './ai-sdk-providers.ts';
import { ModelFailure, type ModelInput, type ModelMessage } from './call.ts';
import { type ModelCall, secretsOf } from './source.ts';
import type { FinishReason, ModelPart } from './targets.ts';

// Its warnings would go to the console past our log; they are about settings a model ignores, such as temperature.
globalThis.AI_SDK_LOG_WARNINGS = false;

/**
 * Asks a model through the AI SDK. Load this file with a dynamic `import` at the first call: the packages are
 * large, and an idle node does not carry them. Retries are ours alone (`maxRetries: 0`), so that Retry-After, fallbacks and chunks already sent are respected.
 */
export async function* answerWithAiSdk(call: ModelCall): AsyncGenerator<ModelPart> {
  const secrets = secretsOf(call);
  let began = false;
  try {
    const parts = call.input.stream ? streamed(call) : inOnePiece(call);
    for await (const part of parts) {
      began ||= part.kind === 'text' || part.kind === 'tool_call';
      yield part;
    }
  } catch (error) {
    throw toModelFailure(error, { began, secrets });
  }
}

async function* streamed(call: ModelCall): AsyncGenerator<ModelPart> {
  const names = new ToolNames(call.input);
  const result = streamText({
    ...(await settings(call, names)),
    // Errors arrive as parts of the stream; the default would print them, request and all.
    onError: () => {},
    experimental_include: { requestBody: false },
  });
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') {
      if (part.text !== '') yield { kind: 'text', text: part.text };
    } else if (part.type === 'tool-call') yield toolCall(part, names);
    else if (part.type === 'error') throw part.error;
    else if (part.type === 'finish-step') yield finish(part.finishReason, part.rawFinishReason, part.usage);
    else if (part.type === 'reasoning-delta' || part.type === 'tool-input-delta') yield { kind: 'alive' };
  }
}

async function* inOnePiece(call: ModelCall): AsyncGenerator<ModelPart> {
  const names = new ToolNames(call.input);
  const result = await generateText({
    ...(await settings(call, names)),
    experimental_include: { requestBody: false, responseBody: false },
  });
  if (result.text !== '') yield { kind: 'text', text: result.text };
  for (const part of result.toolCalls) yield toolCall(part, names);
  yield finish(result.finishReason, result.rawFinishReason, result.usage);
}

async function settings(call: ModelCall, names: ToolNames) {
  const { input, target } = call;
  const limit = target.model.max_output_tokens;
  const provider = await openProvider(call);
  return {
    model: provider.languageModel(target.model.model),
    allowSystemInMessages: true,
    ...toSdkMessages(input, names),
    maxOutputTokens: Math.min(input.max_output_tokens ?? limit, limit),
    temperature: input.temperature ?? target.model.temperature,
    maxRetries: 0,
    abortSignal: call.signal,
    ...(input.tools === undefined || input.tools.length === 0 ? {} : { tools: toSdkTools(input.tools, names) }),
  };
}

/** Tools without `execute`: the SDK hands the calls back instead of running anything. */
function toSdkTools(tools: NonNullable<ModelInput['tools']>, names: ToolNames): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, input_schema: schema }) => [
      names.toWire(name),
      tool({ description, inputSchema: jsonSchema<JsonObject>(schema) }),
    ]),
  );
}

interface SdkToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/** A call of an unknown tool is passed on (the caller refuses it by name); arguments that are no object are nonsense. */
function toolCall(part: SdkToolCall, names: ToolNames): ModelPart {
  const { input } = part;
  if (!isJsonObject(input)) {
    throw new ModelFailure(
      'nonsense',
      `the arguments of the tool call "${part.toolName.slice(0, 64)}" are no JSON object`,
    );
  }
  return { kind: 'tool_call', id: part.toolCallId, name: names.fromWire(part.toolName), arguments: input };
}

/** What the SDK parsed from JSON text holds nothing but JSON. */
const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const REASONS: Readonly<Record<SdkFinishReason, FinishReason | 'broken'>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content-filter',
  'tool-calls': 'tool-calls',
  other: 'other',
  error: 'broken',
};

/** Without a reason of the provider's own the SDK says `other`: then the stream just stopped. */
function finish(reason: SdkFinishReason, raw: string | undefined, usage: LanguageModelUsage): ModelPart {
  const mapped = reason === 'other' && raw === undefined ? 'broken' : REASONS[reason];
  if (mapped === 'broken') throw new ModelFailure('broken', 'the answer stopped without an end');
  return { kind: 'finish', reason: mapped, inputTokens: usage.inputTokens, outputTokens: usage.outputTokens };
}

/**
 * The conversation in the SDK's words. System messages at the beginning join `system`: some providers accept them
 * nowhere else.
 */
function toSdkMessages(input: ModelInput, names: ToolNames): { system?: string; messages: SdkMessage[] } {
  const first = input.messages.findIndex((message) => message.role !== 'system');
  const leading = first === -1 ? input.messages : input.messages.slice(0, first);
  const system = [input.system ?? '', ...leading.map((message) => message.content)].filter((text) => text !== '');
  return {
    ...(system.length === 0 ? {} : { system: system.join('\n\n') }),
    messages: first === -1 ? [] : input.messages.slice(first).map((message) => toSdkMessage(message, names)),
  };
}

function toSdkMessage(message: ModelMessage, names: ToolNames): SdkMessage {
  if (message.role === 'tool') {
    const { tool_call_id: toolCallId, tool_name: name, content } = message;
    const output = { type: 'text' as const, value: content };
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: names.toWire(name), output }] };
  }
  if (message.role !== 'assistant' || message.tool_calls === undefined || message.tool_calls.length === 0) {
    return { role: message.role, content: message.content };
  }
  const calls = message.tool_calls.map((call) => ({
    type: 'tool-call' as const,
    toolCallId: call.id,
    toolName: names.toWire(call.name),
    input: call.arguments,
  }));
  const text = message.content === '' ? [] : [{ type: 'text' as const, text: message.content }];
  return { role: 'assistant', content: [...text, ...calls] };
}

const MAX_WIRE_CHARS = 64;

/**
 * Tool names as providers accept them. Ours have dots (`fs.read`), theirs must match `[A-Za-z0-9_-]{1,64}`; the same
 * input always gets the same names, and an answer is translated back.
 */
export class ToolNames {
  readonly #toWire = new Map<string, string>();
  readonly #fromWire = new Map<string, string>();

  constructor(input: ModelInput) {
    for (const tool of input.tools ?? []) this.#add(tool.name);
    for (const message of input.messages) {
      if (message.role === 'assistant') for (const call of message.tool_calls ?? []) this.#add(call.name);
      if (message.role === 'tool') this.#add(message.tool_name);
    }
  }

  toWire(name: string): string {
    return this.#toWire.get(name) ?? plain(name);
  }

  /** A name the model made up comes back as it is. */
  fromWire(wire: string): string {
    return this.#fromWire.get(wire) ?? wire;
  }

  #add(name: string): void {
    if (this.#toWire.has(name)) return;
    let wire = plain(name);
    for (let n = 2; this.#fromWire.has(wire); n += 1) {
      const suffix = `_${n}`;
      wire = `${plain(name).slice(0, MAX_WIRE_CHARS - suffix.length)}${suffix}`;
    }
    this.#toWire.set(name, wire);
    this.#fromWire.set(wire, name);
  }
}

const plain = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_WIRE_CHARS);
