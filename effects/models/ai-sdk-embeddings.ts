import { type EmbeddingModel, embedMany } from 'ai';
import { toModelFailure } from './ai-sdk-failure.ts';
import { needKey, ollamaUrl } from './ai-sdk-providers.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { ModelFailure } from './failure.ts';
import type { Target } from './targets.ts';

export interface EmbedCall {
  readonly target: Target;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly texts: readonly string[];
  /** Ends the call and closes its socket. */
  readonly signal: AbortSignal;
  readonly dimensions: number | undefined;
}

/** Calls at a time, where a provider takes fewer texts in one than there are. */
const PARALLEL_CALLS = 2;

/** A vector for each text, in their order. Load this file with a dynamic `import`. Throws `ModelFailure`. */
export async function embedWithAiSdk(call: EmbedCall): Promise<number[][]> {
  const secrets = [...(call.apiKey === undefined ? [] : [call.apiKey]), ...Object.values(call.headers)];
  try {
    const { embeddings } = await embedMany({
      model: await openEmbeddingModel(call),
      values: [...call.texts],
      maxRetries: 0,
      maxParallelCalls: PARALLEL_CALLS,
      abortSignal: call.signal,
      ...optionsOf(call),
    });
    if (embeddings.length === call.texts.length) return embeddings;
  } catch (error) {
    throw toModelFailure(error, { began: false, secrets });
  }
  throw new ModelFailure('nonsense', 'the answer holds another number of vectors than there were texts');
}

async function openEmbeddingModel(call: EmbedCall): Promise<Exclude<EmbeddingModel, string>> {
  const { provider, model } = call.target;
  const settings = {
    ...(provider.endpoint === undefined ? {} : { baseURL: provider.endpoint }),
    headers: { ...call.headers },
    fetch: boundedFetch,
  };
  switch (provider.type) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ ...settings, apiKey: needKey(call) }).embeddingModel(model.model);
    }
    case 'gemini': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
      return createGoogleGenerativeAI({ ...settings, apiKey: needKey(call) }).embeddingModel(model.model);
    }
    case 'ollama':
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      return createOpenAICompatible({
        ...settings,
        name: provider.name,
        baseURL: provider.type === 'ollama' ? ollamaUrl(provider.endpoint) : (provider.endpoint ?? ''),
        ...(call.apiKey === undefined ? {} : { apiKey: call.apiKey }),
      }).embeddingModel(model.model);
    }
    case 'anthropic':
    case 'scripted':
      throw new Error(`A provider of type ${provider.type} has no embeddings.`);
  }
}

/** Each provider calls the length of a vector by another name. */
function optionsOf({ target, dimensions }: EmbedCall): { providerOptions?: Record<string, Record<string, number>> } {
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
