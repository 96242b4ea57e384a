import type { Collection, CollectionSpec, Documents, Find, Stored } from '../../runtime/documents.ts';
import { openChanges } from '../changes.ts';
import { type CatalogEntry, newestEntry } from './entry.ts';
import { EventLog, type StoredEvent } from './event-log.ts';
import { type CatalogKind, type CatalogRecord, isVisible, type ManifestHead, type Place } from './record.ts';
import { type ManifestRecord, StoredManifests } from './stored-manifests.ts';

/** A race lost this often in a row is reported, not waited for. */
export const MAX_ATTEMPTS = 100;

/** What is stored of agents or of workflows: records, texts, log; and what a crash left undone on them. */
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

  /** Whatever stands there, seen or not. */
  async at({ tenant, scope, owner }: Place, name: string): Promise<CatalogRecord | null> {
    const [found] = await this.records.find({ tenant, where: { scope, owner, name }, limit: 1 });
    return found ?? null;
  }

  /** Whether nothing is left undone on it. When something was, it is done now: read again. */
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

  /** Removes what is decided to go. Only a deleted record: the same id may have come back. */
  async purge(record: CatalogRecord): Promise<void> {
    const { tenant, id, version, versions } = record;
    // The event of a copy that never arrived is the source's.
    if (record.arriving_from === null) await this.log.recover(record);
    await this.manifests.remove(tenant, versions);
    await this.records.deleteVersion(tenant, id, version);
  }

  /**
   * The rest of a move that is decided: the copy is shown first, then this one goes, so that a reader always finds one.
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
   * Either its move was decided, then it is shown; or it never will be. To be sure of that the source is written once
   * more, which makes the compare-and-set fail that would decide it.
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

/** A page of the longest list several times over. */
const MOST_KEPT = 10_000;

/** An entry with more words than that is read again each time. */
const MOST_CHARS = 4_096;

/** Somebody writes all the time: then the page is read as a whole. */
const MAX_REPAIRS = 3;

interface Kept {
  readonly version: number;
  readonly entry: CatalogEntry;
}

/**
 * Entries as lists show them, cached by the version of their record. A list asks the store which records stand in it, in
 * which version, and reads only those that it does not know: to take a thousand records apart for each answer was nearly all
 * that a list cost. An id never has one version twice: a record that leaves a tenant and comes back goes on counting.
 */
export class EntryCache {
  readonly #store: ManifestStore;
  readonly #cache = new Map<string, Kept>();

  constructor(store: ManifestStore) {
    this.#store = store;
  }

  /** What a find of the store's records answers, as of one moment. */
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
      // One was written or deleted between the two questions.
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
    // Many callers are handed the same one.
    Object.freeze(entry.labels);
    this.#cache.set(record.id, { version: record.version, entry: Object.freeze(entry) });
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > MOST_KEPT && oldest !== undefined) this.#cache.delete(oldest);
  }
}

function knownIn(cache: ReadonlyMap<string, Kept>, { tenant, id, version }: Stored): CatalogEntry | undefined {
  const known = cache.get(id);
  return known?.version === version && known.entry.tenant === tenant ? known.entry : undefined;
}
