import type { Embeddings } from '../../catalog/api.ts';
import type { ModelSelection, NodeCortex, ProviderConfig } from '../../manifests/node/models.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Secrets } from '../../security/api.ts';
import { describeFailures, ModelFailure } from './call.ts';
import { resolveAccess } from './target-tries.ts';
import { ModelTargets, type Target } from './targets.ts';

interface EmbeddingsParts {
  readonly settings: NonNullable<NodeCortex['embeddings']>;
  readonly providers: readonly ProviderConfig[];
  readonly selection: ModelSelection;
  readonly secrets: Secrets;
}

const NO_EMBEDDINGS = new Set<ProviderConfig['type']>(['anthropic', 'scripted']);

/**
 * Embeddings by the first model of an alias, without fallbacks, since vectors of different models are not comparable. Throws
 * `invalid_config` for an unknown alias and for providers without embeddings. `embed` throws `model_unavailable` or
 * `model_failed`; no error contains a key, a text or a raw answer.
 */
export function createEmbeddings({ settings, providers, selection, secrets }: EmbeddingsParts): Embeddings {
  const target = targetOf(settings.alias, providers, selection);
  const { provider, model } = target;
  return {
    model: `${provider.name}/${model.model}/${settings.dimensions ?? 'whole'}`,
    async embed(texts) {
      if (texts.length === 0) return [];
      const access = await resolveAccess(target, secrets);
      const signal = AbortSignal.timeout(settings.timeout_secs * 1_000);
      try {
        // Lazy, so that an idle node does not hold the large packages.
        const { embedWithAiSdk } = await import('./ai-sdk.ts');
        const { dimensions } = settings;
        return await embedWithAiSdk({ target, ...access, texts, signal, dimensions });
      } catch (thrown) {
        const tooSlow = new ModelFailure('busy', `no answer for ${settings.timeout_secs} s (timeout_secs)`);
        const failure = signal.aborted ? tooSlow : thrown;
        if (!(failure instanceof ModelFailure)) throw failure;
        throw describeFailures([{ target, failure }]);
      }
    },
  };
}

function targetOf(alias: string, providers: readonly ProviderConfig[], selection: ModelSelection): Target {
  const field = 'cortex.embeddings.alias';
  const isServed = providers.some((one) => one.enabled && one.models.some((model) => model.alias === alias));
  const [target] = isServed ? new ModelTargets(providers, selection).chain(alias, () => undefined) : [];
  if (target === undefined)
    throw new SvcError('invalid_config', `${field}: no enabled provider has a model with the alias "${alias}".`, {
      field,
    });
  if (!NO_EMBEDDINGS.has(target.provider.type)) return target;
  throw new SvcError('invalid_config', `${field}: providers of type ${target.provider.type} have no embeddings.`, {
    field,
  });
}
