import type { CatalogSearch, Embeddings } from '../catalog/api.ts';
import type { BuiltIns } from '../catalog/built-in/api.ts';
import { createEmbeddings } from '../effects/models/embeddings.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import { FirstUse } from '../runtime/first-use.ts';
import type { Secrets } from '../security/api.ts';

export interface SearchParts {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly settings: Pick<NodeSettings, 'cortex' | 'llm_providers' | 'llm_selection'>;
  readonly secrets: Secrets;
  readonly builtIns: BuiltIns;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Search over the catalog; with the model of `spec.cortex.embeddings` where one is named. Made at the first search: an
 * idle node does not carry it. Throws `invalid_config` at once for a model that nobody serves, so that the node says so
 * when it starts.
 */
export function openSearch(parts: SearchParts): CatalogSearch {
  const { documents, clock, settings, builtIns, warn } = parts;
  const embeddings = embeddingsOf(parts);
  const search = new FirstUse(async () => {
    const { createCatalogSearch } = await import('../catalog/search/catalog-search.ts');
    return createCatalogSearch({ documents, clock, builtIns, warn, settings: settings.cortex, ...embeddings });
  });
  return {
    agents: async (...question) => (await search.get()).agents(...question),
    workflows: async (...question) => (await search.get()).workflows(...question),
  };
}

function embeddingsOf({ settings, secrets }: SearchParts): { readonly embeddings?: Embeddings } {
  const { cortex, llm_providers: providers, llm_selection: selection } = settings;
  if (cortex.embeddings === undefined) return {};
  return { embeddings: createEmbeddings({ settings: cortex.embeddings, providers, selection, secrets }) };
}
