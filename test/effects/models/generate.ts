import { ModelInput, ModelResult } from '../../../effects/models/call.ts';
import { createModelEffect } from '../../../effects/models/model-effect.ts';
import { ModelSelection, ProviderConfig, type ProviderType } from '../../../manifests/node/models.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import { effectContext } from '../../support/effect-context.ts';
import type { ModelServer } from '../../support/model-server.ts';

/** Unlike the keys of any vendor, so that it is only removed from texts because it is known. */
export const KEY = 'Zq/4711+very=secret.value';
/** Wire formats over which every behaviour is tested. */
export const FORMATS = ['openai-compatible', 'openai', 'anthropic', 'gemini'] as const;

/** A provider of the given type at the test server, with the alias `default`. */
export function providerAt(server: ModelServer, type: ProviderType, more: object = {}): ProviderConfig {
  return ProviderConfig.parse({
    name: type,
    type,
    endpoint: `${server.url}/v1`,
    api_key: `literal:${KEY}`,
    models: [{ alias: 'default', model: 'some-model', cost_per_1k_tokens: { input: 2, output: 10 } }],
    ...more,
  });
}

interface Asked {
  readonly result: ModelResult;
  readonly chunks: string[];
}

export interface Ask {
  readonly providers: readonly ProviderConfig[];
  readonly selection?: object;
  readonly input?: object;
  readonly attempt?: number;
  readonly signal?: AbortSignal;
  readonly chunks?: string[];
  readonly progress?: (value: Json) => Promise<boolean>;
  readonly scriptDir?: string;
}

/** Runs `model.generate` once like the effect runner does, with short waits between attempts. */
export async function ask(options: Ask): Promise<Asked> {
  const chunks = options.chunks ?? [];
  const effect = createModelEffect({
    providers: options.providers,
    selection: ModelSelection.parse({ retry_delay_ms: 1, ...options.selection }),
    secrets: { resolve: async (_tenant, reference) => reference.replace(/^literal:/, '') },
    ...(options.scriptDir === undefined ? {} : { scriptDir: options.scriptDir }),
  });
  const context = effectContext({
    attempt: options.attempt ?? 1,
    address: 'execution/acme/x',
    signal: options.signal ?? new AbortController().signal,
    progress: async (value) => {
      if (options.progress !== undefined) return options.progress(value);
      chunks.push(textIn(value));
      return true;
    },
  });
  const input = ModelInput.parse({
    model: 'default',
    messages: [{ role: 'user', content: 'Say hello.' }],
    ...options.input,
  });
  const value = await effect.run(input, context);
  return { result: ModelResult.parse(value), chunks };
}

/** The error that a call ends with; fails when it succeeds. */
export async function failureOf(options: Ask): Promise<SvcError> {
  try {
    await ask(options);
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
  throw new Error('The call was expected to fail.');
}

function textIn(value: Json): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && typeof value.text === 'string') {
    return value.text;
  }
  throw new Error(`Progress was expected to be {text}, not ${JSON.stringify(value)}.`);
}
