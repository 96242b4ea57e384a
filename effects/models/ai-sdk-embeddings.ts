import { embedMany } from 'ai';
import { toModelFailure } from './ai-sdk-failure.ts';
import { openProvider } from './ai-sdk-providers.ts';
import { ModelFailure } from './call.ts';
import { type ProviderCall, secretsOf } from './source.ts';

export interface EmbedCall extends ProviderCall {
  readonly texts: readonly string[];
  readonly dimensions: number | undefined;
}

/** Calls at a time, where a provider takes fewer texts in one than there are. */
const PARALLEL_CALLS = 2;

/** A vector for each text, in their order. Load this file with a dynamic `import`. Throws `ModelFailure`. */
export async function embedWithAiSdk(call: EmbedCall): Promise<number[][]> {
  try {
    const provider = await openProvider(call);
    const { embeddings } = await embedMany({
      model: provider.embeddingModel(call.target.model.model),
      values: [...call.texts],
      maxRetries: 0,
      maxParallelCalls: PARALLEL_CALLS,
      abortSignal: call.signal,
      ...optionsOf(call),
    });
    if (embeddings.length === call.texts.length) return embeddings;
  } catch (error) {
    throw toModelFailure(error, { began: false, secrets: secretsOf(call) });
  }
  throw new ModelFailure('nonsense', 'the answer holds another number of vectors than there were texts');
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
