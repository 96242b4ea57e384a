import type { CatalogSearch } from '../catalog/api.ts';
import type { BuiltIns } from '../catalog/built-in/api.ts';
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
 * idle node does not carry it.
 */
export function openSearch(parts: SearchParts): CatalogSearch {
  const search = new FirstUse(() => create(parts));
  return {
    agents: async (...question) => (await search.get()).agents(...question),
    workflows: async (...question) => (await search.get()).workflows(...question),
  };
}

async function create({ documents, clock, settings, secrets, builtIns, warn }: SearchParts): Promise<CatalogSearch> {
  const { createCatalogSearch } = await import('../catalog/search/catalog-search.ts');
  const { createEmbeddings } = await import('../effects/models/embeddings.ts');
  const { cortex, llm_providers: providers, llm_selection: selection } = settings;
  const { embeddings } = cortex;
  return createCatalogSearch({
    ...{ documents, clock, builtIns, warn, settings: cortex },
    ...(embeddings === undefined
      ? {}
      : { embeddings: createEmbeddings({ settings: embeddings, providers, selection, secrets }) }),
  });
}
