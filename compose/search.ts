import type { CatalogSearch } from '../catalog/api.ts';
import type { BuiltIns } from '../catalog/built-in/api.ts';
import { createCatalogSearch } from '../catalog/search/catalog-search.ts';
import { createEmbeddings } from '../effects/models/embeddings.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import type { Secrets } from '../security/api.ts';

export interface SearchParts {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly settings: Pick<NodeSettings, 'cortex' | 'llm_providers' | 'llm_selection'>;
  readonly secrets: Secrets;
  readonly builtIns: BuiltIns;
  readonly warn: (message: string, error: unknown) => void;
}

/** Search over the catalog; with the model of `spec.cortex.embeddings` where one is named. */
export async function openSearch(parts: SearchParts): Promise<CatalogSearch> {
  const { documents, clock, settings, secrets, builtIns, warn } = parts;
  const { cortex, llm_providers: providers, llm_selection: selection } = settings;
  const { embeddings } = cortex;
  return createCatalogSearch({
    ...{ documents, clock, builtIns, warn, settings: cortex },
    ...(embeddings === undefined
      ? {}
      : { embeddings: createEmbeddings({ settings: embeddings, providers, selection, secrets }) }),
  });
}
