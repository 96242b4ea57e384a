import type { NodeCortex } from '../../manifests/node/cortex.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { CatalogReader, CatalogSearch, Embeddings, SearchHit, SearchRequest } from '../api.ts';
import type { BuiltIns } from '../built-in/api.ts';
import { BuiltInShelf } from './built-in-shelf.ts';
import { CalmEmbeddings } from './calm-embeddings.ts';
import { entryOf, isSeenBy, isWanted, type SearchEntry } from './entry.ts';
import { EntryVectors, SEARCH_VECTORS, type VectorRecord } from './entry-vectors.ts';
import { QueryVectors } from './query-vectors.ts';
import { type Ranked, rank, type Shelf } from './ranking.ts';
import { type CheckedRequest, checked } from './request.ts';
import { byIds, openSources, type SearchedKind, type Sources } from './sources.ts';
import { TenantIndex } from './tenant-index.ts';
import { TenantIndexes } from './tenant-indexes.ts';

export interface CatalogSearchParts {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly settings: NodeCortex;
  readonly builtIns: BuiltIns;
  /** Without it words alone decide. */
  readonly embeddings?: Embeddings;
  readonly warn: (message: string, error: unknown) => void;
}

/** Search over what is deployed (see search-api.ts for its promises, docs/search.md for the scores). */
export async function createCatalogSearch(parts: CatalogSearchParts): Promise<CatalogSearch> {
  const { documents, settings } = parts;
  if (!settings.enabled) {
    const refuse = async (): Promise<never> => {
      throw new SvcError('cortex_not_configured');
    };
    return { agents: refuse, workflows: refuse };
  }
  const search = new DocumentCatalogSearch(parts, {
    agents: await openSources(documents, 'agents'),
    workflows: await openSources(documents, 'workflows'),
    vectors: await documents.collection<VectorRecord>(SEARCH_VECTORS),
  });
  return {
    agents: (reader, request) => search.find('agents', reader, request),
    workflows: (reader, request) => search.find('workflows', reader, request),
  };
}

interface Stored extends Readonly<Record<SearchedKind, Sources>> {
  readonly vectors: Collection<VectorRecord>;
}

class DocumentCatalogSearch {
  readonly #parts: CatalogSearchParts;
  readonly #stored: Stored;
  readonly #embeddings: CalmEmbeddings | null;
  readonly #queries: QueryVectors | null;
  readonly #indexes: TenantIndexes;
  readonly #builtIns: BuiltInShelf;

  constructor(parts: CatalogSearchParts, stored: Stored) {
    this.#parts = parts;
    this.#stored = stored;
    const { embeddings, clock, settings, warn, builtIns } = parts;
    this.#embeddings = embeddings === undefined ? null : new CalmEmbeddings(embeddings, clock, warn);
    this.#queries = this.#embeddings === null ? null : new QueryVectors(this.#embeddings, settings.embeddings);
    this.#indexes = new TenantIndexes(settings.search.max_entries_in_memory);
    this.#builtIns = new BuiltInShelf(builtIns, () => this.#vectorsOf(SYSTEM_TENANT));
  }

  async find(kind: SearchedKind, reader: CatalogReader, request: SearchRequest): Promise<readonly SearchHit[]> {
    const wanted = checked(request);
    const [meaning, shelves] = await Promise.all([
      this.#queries?.of(wanted.query),
      this.#shelves(kind, reader, wanted),
    ]);
    const near = meaning ?? null;
    const accept = (entry: SearchEntry): boolean => isSeenBy(reader, entry) && isWanted(wanted, entry);
    for (let limit = wanted.limit; ; limit *= 2) {
      const ranked = rank(shelves, wanted.query, near, { minScore: wanted.minScore, limit, accept });
      const hits = (await this.#asTheyAre(kind, ranked)).filter(({ entry }) => accept(entry));
      if (hits.length >= wanted.limit || ranked.length < limit) return hits.slice(0, wanted.limit).map(hitOf);
    }
  }

  /** What the reader may see something of, in step with the catalog. */
  async #shelves(kind: SearchedKind, reader: CatalogReader, wanted: CheckedRequest): Promise<Shelf[]> {
    const ofTenant = this.#indexes.get(`${kind}/${reader.tenant}`, () =>
      this.#openIndex(kind, reader.tenant, () => true),
    );
    const isApart = reader.tenant !== SYSTEM_TENANT && wanted.includePlatformTemplates;
    const ofAll = isApart
      ? this.#indexes.get(`${kind}//global`, () =>
          this.#openIndex(kind, SYSTEM_TENANT, ({ scope }) => scope === 'global'),
        )
      : null;
    const builtIn = wanted.includePlatformTemplates ? this.#builtIns.open(kind) : null;
    await Promise.all([ofTenant.refresh(), ofAll?.refresh(), builtIn?.vectors?.load()]);
    await builtIn?.vectors?.fill();
    this.#indexes.trim();
    return [ofTenant, ofAll, builtIn].filter((shelf) => shelf !== null);
  }

  #openIndex(kind: SearchedKind, tenant: string, holds: (entry: SearchEntry) => boolean): TenantIndex {
    const { clock, settings, warn } = this.#parts;
    return new TenantIndex({
      ...{ tenant, clock, warn, holds, sources: this.#stored[kind] },
      maxEntries: settings.search.max_entries,
      vectors: this.#vectorsOf(tenant),
    });
  }

  #vectorsOf(tenant: string): EntryVectors | null {
    if (this.#embeddings === null) return null;
    const { warn } = this.#parts;
    return new EntryVectors({ tenant, warn, stored: this.#stored.vectors, embeddings: this.#embeddings });
  }

  /** Found entries as their records are now, in the same order, each id once: an index is never the last word. */
  async #asTheyAre(kind: SearchedKind, ranked: readonly Ranked[]): Promise<Ranked[]> {
    const { records } = this.#stored[kind];
    const stored = ranked.filter(({ entry }) => !this.#builtIns.has(kind, entry.id));
    const now = new Map<string, SearchEntry>();
    for (const [tenant, some] of Map.groupBy(stored, ({ entry }) => entry.tenant)) {
      const ids = some.map(({ entry }) => entry.id);
      for (const record of await byIds(records, tenant, ids)) {
        const entry = entryOf(record);
        if (entry !== null) now.set(`${tenant}/${record.id}`, entry);
      }
    }
    const ids = new Set<string>();
    return ranked.flatMap(({ entry: { tenant, id }, score }) => {
      const entry = this.#builtIns.has(kind, id) ? this.#builtIns.get(kind, id) : now.get(`${tenant}/${id}`);
      if (entry === undefined || ids.has(id)) return [];
      ids.add(id);
      return [{ entry, score }];
    });
  }
}

const hitOf = ({ entry: { id, name, version, description, labels }, score }: Ranked): SearchHit => ({
  ...{ id, name, version, description, labels, score },
});
