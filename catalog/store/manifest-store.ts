import type { Collection, CollectionSpec, Documents, Find, Stored } from '../../runtime/documents.ts';
import { BoundedCache } from '../../runtime/kit/bounded-cache.ts';
import { openChanges } from '../changes.ts';
import { type CatalogEntry, newestEntry } from './entry.ts';
import { EventLog, type StoredEvent } from './event-log.ts';
import { type CatalogKind, type CatalogRecord, isVisible, type ManifestHead, type Namespace } from './record.ts';
import { type ManifestRecord, StoredManifests } from './stored-manifests.ts';

/** Lost compare-and-sets in a row before the call fails. */
export const MAX_ATTEMPTS = 100;

/** The stored agents or workflows: records, manifests and log. It also completes changes that a crash has interrupted. */
export class ManifestStore<Manifest extends ManifestHead = ManifestHead> {
  readonly kind: CatalogKind<Manifest>;
  readonly records: Collection<CatalogRecord>;
  readonly manifests: StoredManifests<Manifest>;
  readonly log: EventLog;

  constructor(parts: Pick<ManifestStore<Manifest>, 'kind' | 'records' | 'manifests' | 'log'>) {
    this.kind = parts.kind;
    this.records = parts.records;
    this.manifests = parts.manifests;
    this.log = parts.log;
  }

  /** The record with this name in the namespace, whether or not it is visible. */
  async at({ tenant, scope, owner }: Namespace, name: string): Promise<CatalogRecord | null> {
    const [found] = await this.records.find({ tenant, where: { scope, owner, name }, limit: 1 });
    return found ?? null;
  }

  /**
   * Whether no interrupted change is pending on the record. Otherwise completes the change and returns false; the caller reads
   * again.
   */
  async isSettled(record: CatalogRecord): Promise<boolean> {
    if (record.status === 'deleted') await this.purge(record);
    else if (record.status === 'arriving') await this.#settleArriving(record);
    else if (record.leaving_to !== null) await this.finishMove(record);
    else {
      await this.log.recover(record);
      return true;
    }
    return false;
  }

  /**
   * Deletes the manifests of a deleted record, then the record in this version only, since a record with the same id may have
   * come back.
   */
  async purge(record: CatalogRecord): Promise<void> {
    const { tenant, id, version, versions } = record;
    // For a copy whose move was not decided, the source has the event.
    if (record.arriving_from === null) await this.log.recover(record);
    await this.manifests.remove(tenant, versions);
    await this.records.deleteVersion(tenant, id, version);
  }

  /**
   * Completes a decided move. It first makes the copy visible, then deletes the source, so that a reader always finds one of
   * them.
   */
  async finishMove(source: CatalogRecord): Promise<void> {
    if (source.leaving_to === null) return;
    const copy = await this.records.get(source.leaving_to, source.id);
    if (copy?.status === 'arriving' && copy.arriving_from?.version === source.version - 1)
      await this.#show(copy, source);
    await this.log.recover(source);
    const gone: CatalogRecord = { ...source, version: source.version + 1, status: 'deleted', leaving_to: null };
    if (await this.records.replace(gone, source.version)) await this.purge(gone);
  }

  async #show(copy: CatalogRecord, { status, last_event }: CatalogRecord): Promise<void> {
    const shown: CatalogRecord = { ...copy, version: copy.version + 1, status, arriving_from: null, last_event };
    if (await this.records.replace(shown, copy.version)) await this.log.record(shown);
  }

  /**
   * Makes the copy visible when its move was decided, otherwise deletes it. Before deleting, it writes the source once more, so
   * that the compare-and-set that would decide the move fails.
   */
  async #settleArriving(copy: CatalogRecord): Promise<void> {
    const { arriving_from: from } = copy;
    const source = from === null ? null : await this.records.get(from.tenant, copy.id);
    if (from !== null && source !== null) {
      if (source.leaving_to === copy.tenant && source.version === from.version + 1) return this.finishMove(source);
      if (source.version === from.version) {
        await this.records.replace({ ...source, version: source.version + 1 }, source.version);
        return;
      }
    }
    await this.drop(copy);
  }

  async drop(copy: CatalogRecord): Promise<void> {
    const gone: CatalogRecord = { ...copy, version: copy.version + 1, status: 'deleted' };
    if (await this.records.replace(gone, copy.version)) await this.purge(gone);
  }
}

interface StoreCollections {
  readonly records: CollectionSpec;
  readonly manifests: CollectionSpec;
  readonly events: CollectionSpec;
}

export async function openManifestStore<Manifest extends ManifestHead>(
  documents: Documents,
  kind: CatalogKind<Manifest>,
  specs: StoreCollections,
): Promise<ManifestStore<Manifest>> {
  const changes = await openChanges(documents, kind.noun);
  return new ManifestStore({
    kind,
    records: await documents.collection<CatalogRecord>(specs.records),
    manifests: new StoredManifests(await documents.collection<ManifestRecord>(specs.manifests), kind.read),
    log: new EventLog(await documents.collection<StoredEvent>(specs.events), kind.idField, (tenant, id) =>
      changes.note(tenant, id),
    ),
  });
}

/** Maximum number of cached entries: several pages of the largest size. */
const MOST_KEPT = 10_000;

/** Larger entries are not cached. */
const MOST_CHARS = 4_096;

/** Under constant writes, the page is read as a whole after this many attempts. */
const MAX_REPAIRS = 3;

interface Kept {
  readonly version: number;
  readonly entry: CatalogEntry;
}

/**
 * Entries of lists, cached by the version of their record. A list asks the store for the ids and versions of its records and
 * reads only those that are not cached, since parsing a thousand records took nearly all the time of a list. An id never has
 * the same version twice: a record that leaves a tenant and comes back continues counting.
 */
export class EntryCache {
  readonly #store: ManifestStore;
  readonly #cache = new BoundedCache<string, Kept>(MOST_KEPT);

  constructor(store: ManifestStore) {
    this.#store = store;
  }

  /** The result of a find, as of one moment. */
  async read(find: Find): Promise<CatalogEntry[]> {
    for (let attempt = 0; attempt < MAX_REPAIRS; attempt += 1) {
      const stored = await this.#store.records.findStored(find);
      const entries: CatalogEntry[] = [];
      const unknown: string[] = [];
      for (const one of stored) {
        const entry = knownIn(this.#cache, one);
        if (entry === undefined) unknown.push(one.id);
        else entries.push(entry);
      }
      if (unknown.length === 0) return entries;
      const read = await this.#read(find, unknown);
      const all = stored.flatMap((one) => knownIn(read, one) ?? knownIn(this.#cache, one) ?? []);
      if (all.length === stored.length) return all;
      // A record was written or deleted between the two reads.
    }
    return (await this.#store.records.find(find))
      .filter(isVisible)
      .map((record) => newestEntry(this.#store.kind, record));
  }

  async #read({ tenant }: Find, ids: readonly string[]): Promise<ReadonlyMap<string, Kept>> {
    const read = new Map<string, Kept>();
    const records = await this.#store.records.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
    for (const record of records) {
      if (!isVisible(record)) continue;
      const entry = newestEntry(this.#store.kind, record);
      read.set(record.id, { version: record.version, entry });
      this.#keep(record, entry);
    }
    return read;
  }

  #keep(record: Stored, entry: CatalogEntry): void {
    this.#cache.delete(record.id);
    if (entry.description.length + JSON.stringify(entry.labels).length > MOST_CHARS) return;
    // Frozen, since many callers share it.
    Object.freeze(entry.labels);
    this.#cache.put(record.id, { version: record.version, entry: Object.freeze(entry) });
  }
}

function knownIn(
  cache: Pick<BoundedCache<string, Kept>, 'get'>,
  { tenant, id, version }: Stored,
): CatalogEntry | undefined {
  const known = cache.get(id);
  return known?.version === version && known.entry.tenant === tenant ? known.entry : undefined;
}
