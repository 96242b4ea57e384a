import type { EmbeddingModel, LanguageModel } from 'ai';
import { outgoingTrace } from '../../runtime/calls/calls-of-effect.ts';
import type { ProviderCall } from './call.ts';
import { ModelFailure } from './call.ts';

const OLLAMA_ENDPOINT = 'http://127.0.0.1:11434/v1';

/** The SDK's models of one provider, by the provider's names. */
interface SdkProvider {
  languageModel(model: string): Exclude<LanguageModel, string>;
  /** Throws for a provider without embeddings. */
  embeddingModel(model: string): Exclude<EmbeddingModel, string>;
}

/**
 * The SDK's provider of a target, created for each call, so that a rotated key takes effect at once. OpenAI is called through
 * chat completions, which all compatible servers support.
 */
export async function openProvider(call: ProviderCall): Promise<SdkProvider> {
  const { provider } = call.target;
  const settings = {
    ...(provider.endpoint === undefined ? {} : { baseURL: provider.endpoint }),
    headers: { ...call.headers, ...outgoingTrace() },
    fetch: boundedFetch,
  };
  switch (provider.type) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      const openai = createOpenAI({ ...settings, apiKey: needKey(call) });
      return { languageModel: (model) => openai.chat(model), embeddingModel: (model) => openai.embeddingModel(model) };
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ ...settings, apiKey: needKey(call) });
    }
    case 'gemini': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
      return createGoogleGenerativeAI({ ...settings, apiKey: needKey(call) });
    }
    case 'ollama':
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      return createOpenAICompatible({
        ...settings,
        name: provider.name,
        baseURL: provider.type === 'ollama' ? ollamaUrl(provider.endpoint) : (provider.endpoint ?? ''),
        ...(call.apiKey === undefined ? {} : { apiKey: call.apiKey }),
        includeUsage: true,
      });
    }
    case 'scripted':
      throw new Error('The AI SDK has no scripted models.');
  }
}

/** Without this check the SDK would use a key from the environment. */
function needKey(call: ProviderCall): string {
  if (call.apiKey !== undefined && call.apiKey !== '') return call.apiKey;
  throw new ModelFailure('refused', 'no api_key is configured for this provider');
}

/** Ollama serves the OpenAI format below /v1. */
function ollamaUrl(endpoint: string | undefined): string {
  if (endpoint === undefined) return OLLAMA_ENDPOINT;
  const url = new URL(endpoint);
  return url.pathname === '/' ? new URL('/v1', url).href : endpoint;
}

/** More than the longest real answers (128,000 tokens at about 200 bytes of framing each). */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** The fetch for the AI SDK: follows no redirects, so that a key reaches only the configured host, and bounds the body. */
async function boundedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'manual' });
  if (response.body === null) return response;
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= MAX_RESPONSE_BYTES) controller.enqueue(chunk);
      else controller.error(new ModelFailure('unusable', `the response is over ${MAX_RESPONSE_BYTES} bytes`));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}
