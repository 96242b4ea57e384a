import {
  embedMany,
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
import {
  type ModelCall,
  ModelFailure,
  type ModelInput,
  type ModelMessage,
  type ProviderCall,
  secretsOf,
} from './call.ts';
import type { FinishReason, ModelPart } from './targets.ts';

// The SDK would print warnings to the console, about settings that a model ignores.
globalThis.AI_SDK_LOG_WARNINGS = false;

/**
 * Calls a model through the AI SDK. Load this file with a dynamic `import` at the first call, so that an idle node does not
 * hold the large packages. The SDK's retries are off, since only ours respect Retry-After, fallbacks and chunks already
 * sent. Throws `ModelFailure`.
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
    // Errors arrive as parts of the stream; the default would print them together with the request.
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

/** Tools without `execute`: the SDK returns the calls instead of running them. */
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

/** Passes calls of unknown tools on, since the caller refuses them by name. Throws for arguments that are not an object. */
function toolCall(part: SdkToolCall, names: ToolNames): ModelPart {
  const { input } = part;
  if (!isJsonObject(input)) {
    throw new ModelFailure(
      'nonsense',
      `the arguments of the tool call "${part.toolName.slice(0, 64)}" are not a JSON object`,
    );
  }
  return { kind: 'tool_call', id: part.toolCallId, name: names.fromWire(part.toolName), arguments: input };
}

/** Sufficient, since the SDK parsed the value from JSON text. */
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

/** The SDK reports `other` without a reason of the provider if the stream just stopped. */
function finish(reason: SdkFinishReason, raw: string | undefined, usage: LanguageModelUsage): ModelPart {
  const mapped = reason === 'other' && raw === undefined ? 'broken' : REASONS[reason];
  if (mapped === 'broken') throw new ModelFailure('broken', 'the answer ended without a finish reason');
  return { kind: 'finish', reason: mapped, inputTokens: usage.inputTokens, outputTokens: usage.outputTokens };
}

/** Converts the conversation. System messages at the beginning join `system`, the only place some providers accept. */
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
 * Maps tool names to those that providers accept, and back: ours have dots (`fs.read`), theirs must match
 * `[A-Za-z0-9_-]{1,64}`. The same input always gets the same names.
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

  /** Returns an unknown name unchanged. */
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

interface EmbedCall extends ProviderCall {
  readonly texts: readonly string[];
  readonly dimensions: number | undefined;
}

/** Concurrent calls if a provider takes fewer texts per call than given. */
const PARALLEL_CALLS = 2;

/** Returns one vector for each text, in order. Throws `ModelFailure`. */
export async function embedWithAiSdk(call: EmbedCall): Promise<number[][]> {
  try {
    const provider = await openProvider(call);
    const { embeddings } = await embedMany({
      model: provider.embeddingModel(call.target.model.model),
      values: [...call.texts],
      maxRetries: 0,
      maxParallelCalls: PARALLEL_CALLS,
      abortSignal: call.signal,
      ...embeddingOptions(call),
    });
    if (embeddings.length === call.texts.length) return embeddings;
  } catch (error) {
    throw toModelFailure(error, { began: false, secrets: secretsOf(call) });
  }
  throw new ModelFailure('nonsense', 'the answer has a different number of vectors than texts');
}

/** The option for the length of vectors has a different name for each provider. */
function embeddingOptions({ target, dimensions }: EmbedCall): {
  providerOptions?: Record<string, Record<string, number>>;
} {
  if (dimensions === undefined) return {};
  switch (target.provider.type) {
    case 'openai':
      return { providerOptions: { openai: { dimensions } } };
    case 'gemini':
      return { providerOptions: { google: { outputDimensionality: dimensions } } };
    default:
      return { providerOptions: { openaiCompatible: { dimensions } } };
  }
}
