import type { NodeCortex } from '../../manifests/node/models.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { BoundedCache } from '../../runtime/kit/bounded-cache.ts';
import type { CatalogReader, CatalogSearch, Embeddings, SearchHit, SearchRequest } from '../api.ts';
import type { BuiltIns } from '../built-in/api.ts';
import {
  byIds,
  entryOf,
  type Filter,
  isSeenBy,
  isWanted,
  openSources,
  type SearchEntry,
  type SearchedKind,
  type Sources,
} from './entry.ts';
import { EmbeddingsBreaker, EntryVectors, SEARCH_VECTORS, type Vector, type VectorRecord } from './entry-vectors.ts';
import { LexicalIndex } from './lexical-index.ts';
import { type Meaning, type Ranked, rank, type SearchedIndex } from './ranking.ts';
import { tellingText } from './telling-text.ts';
import { TenantIndex, TenantIndexes } from './tenant-index.ts';

interface CatalogSearchParts {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly settings: NodeCortex;
  readonly builtIns: BuiltIns;
  /** Absent: scores depend on words only. */
  readonly embeddings?: Embeddings;
  readonly warn: (message: string, error: unknown) => void;
}

/** Search over deployed agents and workflows (see ../api.ts for its promises, docs/explanation/search.md for the scores). */
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
  readonly #embeddings: EmbeddingsBreaker | null;
  readonly #queries: QueryVectors | null;
  readonly #indexes: TenantIndexes;
  readonly #builtIns: BuiltInIndex;

  constructor(parts: CatalogSearchParts, stored: Stored) {
    this.#parts = parts;
    this.#stored = stored;
    const { embeddings, clock, settings, warn, builtIns } = parts;
    this.#embeddings = embeddings === undefined ? null : new EmbeddingsBreaker(embeddings, clock, warn);
    this.#queries = this.#embeddings === null ? null : new QueryVectors(this.#embeddings, settings.embeddings);
    this.#indexes = new TenantIndexes(settings.search.max_entries_in_memory);
    this.#builtIns = new BuiltInIndex(builtIns, () => this.#vectorsOf(SYSTEM_TENANT));
  }

  async find(kind: SearchedKind, reader: CatalogReader, request: SearchRequest): Promise<readonly SearchHit[]> {
    const wanted = checked(request);
    const [meaning, indexes] = await Promise.all([
      this.#queries?.of(wanted.query),
      this.#searched(kind, reader, wanted),
    ]);
    const near = meaning ?? null;
    const accept = (entry: SearchEntry): boolean => isSeenBy(reader, entry) && isWanted(wanted, entry);
    for (let limit = wanted.limit; ; limit *= 2) {
      const ranked = rank(indexes, wanted.query, near, { minScore: wanted.minScore, limit, accept });
      const hits = (await this.#asTheyAre(kind, ranked)).filter(({ entry }) => accept(entry));
      if (hits.length >= wanted.limit || ranked.length < limit) return hits.slice(0, wanted.limit).map(hitOf);
    }
  }

  /** The indexes with entries that the reader may see, brought up to date with the catalog. */
  async #searched(kind: SearchedKind, reader: CatalogReader, wanted: CheckedRequest): Promise<SearchedIndex[]> {
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
    return [ofTenant, ofAll, builtIn].filter((index) => index !== null);
  }

  #openIndex(kind: SearchedKind, tenant: string, holds: (entry: SearchEntry) => boolean): TenantIndex {
    const { clock, settings, warn } = this.#parts;
    return new TenantIndex({
      tenant,
      clock,
      warn,
      holds,
      sources: this.#stored[kind],
      maxEntries: settings.search.max_entries,
      vectors: this.#vectorsOf(tenant),
    });
  }

  #vectorsOf(tenant: string): EntryVectors | null {
    if (this.#embeddings === null) return null;
    const { warn } = this.#parts;
    return new EntryVectors({ tenant, warn, stored: this.#stored.vectors, embeddings: this.#embeddings });
  }

  /** The found entries with their current records, in the same order, each id once, since an index may be out of date. */
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
  id,
  name,
  version,
  description,
  labels,
  score,
});

const MAX_KNOWN = 256;

const DEFAULTS = { weight: 0.7, cosine_floor: 0.2, cosine_ceiling: 0.8 };

/** Vectors of queries, with a cache of recent ones. */
class QueryVectors {
  readonly #embeddings: EmbeddingsBreaker;
  readonly #settings: typeof DEFAULTS;
  readonly #known = new BoundedCache<string, Vector>(MAX_KNOWN);

  constructor(embeddings: EmbeddingsBreaker, settings: NodeCortex['embeddings']) {
    this.#embeddings = embeddings;
    this.#settings = settings ?? DEFAULTS;
  }

  /** Null while the model does not answer. */
  async of(query: string): Promise<Meaning | null> {
    const vector = this.#known.get(query) ?? (await this.#embeddings.embed([query]))?.[0] ?? null;
    if (vector === null) return null;
    this.#known.put(query, vector);
    const { weight, cosine_floor: cosineFloor, cosine_ceiling: cosineCeiling } = this.#settings;
    return { vector, weight, cosineFloor, cosineCeiling };
  }
}

/** Index of the built-ins, built at the first search. It never changes. */
class BuiltInIndex {
  readonly #builtIns: BuiltIns;
  readonly #openVectors: () => EntryVectors | null;
  readonly #byKind = new Map<SearchedKind, SearchedIndex>();

  constructor(builtIns: BuiltIns, openVectors: () => EntryVectors | null) {
    this.#builtIns = builtIns;
    this.#openVectors = openVectors;
  }

  open(kind: SearchedKind): SearchedIndex {
    const known = this.#byKind.get(kind);
    if (known !== undefined) return known;
    const index = { words: new LexicalIndex(), vectors: this.#openVectors() };
    for (const { entry, instruction } of this.#read(kind)) {
      index.words.put(entry, instruction);
      index.vectors?.want(entry, instruction);
    }
    this.#byKind.set(kind, index);
    return index;
  }

  has(kind: SearchedKind, id: string): boolean {
    return this.get(kind, id) !== undefined;
  }

  get(kind: SearchedKind, id: string): SearchEntry | undefined {
    const words = this.#byKind.get(kind)?.words;
    const slot = words?.slotOf(id);
    return slot === undefined ? undefined : words?.at(slot);
  }

  #read(kind: SearchedKind): { readonly entry: SearchEntry; readonly instruction: string }[] {
    const { agents, workflows } = this.#builtIns;
    const all = kind === 'agents' ? agents.map((agent) => ({ ...agent, id: agent.agent_id })) : workflows;
    return all.map(({ id, name, version, description, labels, status, manifest_yaml }) => ({
      entry: {
        id,
        name,
        version,
        description,
        labels,
        status,
        tenant: SYSTEM_TENANT,
        scope: 'global',
        owner: '',
        leavingTo: null,
        recordVersion: 0,
      },
      instruction: tellingText(manifest_yaml),
    }));
  }
}

const MAX_QUERY_CHARS = 4_096;

const MAX_LABELS = 64;

const MAX_LIMIT = 100;

const DEFAULT_LIMIT = 10;

const DEFAULT_MIN_SCORE = 0.3;

const STATUSES = ['deployed', 'paused', 'archived'];

interface CheckedRequest extends Filter {
  readonly query: string;
  readonly limit: number;
  readonly minScore: number;
}

/** Fills in defaults (W38). Throws `invalid_argument` naming the argument of the tool. */
function checked(request: SearchRequest): CheckedRequest {
  const { query, limit = DEFAULT_LIMIT, minScore = DEFAULT_MIN_SCORE, labels = {}, status } = request;
  if (query.trim() === '' || query.length > MAX_QUERY_CHARS)
    throw invalidField('query', `expected 1 to ${MAX_QUERY_CHARS} characters`);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw invalidField('limit', `expected 1 to ${MAX_LIMIT}`);
  if (!(minScore >= 0 && minScore <= 1)) throw invalidField('min_score', 'expected 0 to 1');
  if (Object.keys(labels).length > MAX_LABELS) throw invalidField('labels', `expected at most ${MAX_LABELS} pairs`);
  if (status !== undefined && !STATUSES.includes(status))
    throw invalidField('status', `expected ${STATUSES.join(', ')}`);
  return {
    query,
    limit,
    minScore,
    labels,
    statuses: status === undefined ? ['deployed', 'paused'] : [status],
    includePlatformTemplates: request.includePlatformTemplates ?? true,
  };
}
