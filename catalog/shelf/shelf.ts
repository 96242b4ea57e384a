import type { Collection, CollectionSpec, Documents, Find, Stored } from '../../runtime/documents.ts';
import { openChanges } from '../changes.ts';
import { newestEntry, type ShelfEntry } from './entry.ts';
import { EventLog, type StoredEvent } from './event-log.ts';
import { isSeen, type ManifestHead, type Place, type ShelfKind, type ShelfRecord } from './record.ts';
import { type ManifestRecord, StoredManifests } from './stored-manifests.ts';

/** A race lost this often in a row is reported, not waited for. */
export const MAX_ATTEMPTS = 100;

/** What is stored of agents or of workflows: records, texts, log; and what a crash left undone on them. */
export class Shelf<Manifest extends ManifestHead = ManifestHead> {
  readonly kind: ShelfKind<Manifest>;
  readonly records: Collection<ShelfRecord>;
  readonly manifests: StoredManifests<Manifest>;
  readonly log: EventLog;

  constructor(parts: Pick<Shelf<Manifest>, 'kind' | 'records' | 'manifests' | 'log'>) {
    this.kind = parts.kind;
    this.records = parts.records;
    this.manifests = parts.manifests;
    this.log = parts.log;
  }

  /** Whatever stands there, seen or not. */
  async at({ tenant, scope, owner }: Place, name: string): Promise<ShelfRecord | null> {
    const [found] = await this.records.find({ tenant, where: { scope, owner, name }, limit: 1 });
    return found ?? null;
  }

  /** Whether nothing is left undone on it. When something was, it is done now: read again. */
  async isSettled(record: ShelfRecord): Promise<boolean> {
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
  async purge(record: ShelfRecord): Promise<void> {
    const { tenant, id, version, versions } = record;
    // The event of a copy that never arrived is the source's.
    if (record.arriving_from === null) await this.log.recover(record);
    await this.manifests.remove(tenant, versions);
    await this.records.deleteVersion(tenant, id, version);
  }

  /**
   * The rest of a move that is decided: the copy is shown first, then this one goes, so that a reader always finds one.
   */
  async finishMove(source: ShelfRecord): Promise<void> {
    if (source.leaving_to === null) return;
    const copy = await this.records.get(source.leaving_to, source.id);
    if (copy?.status === 'arriving' && copy.arriving_from?.version === source.version - 1)
      await this.#show(copy, source);
    await this.log.recover(source);
    const gone: ShelfRecord = { ...source, version: source.version + 1, status: 'deleted', leaving_to: null };
    if (await this.records.replace(gone, source.version)) await this.purge(gone);
  }

  async #show(copy: ShelfRecord, { status, last_event }: ShelfRecord): Promise<void> {
    const shown: ShelfRecord = { ...copy, version: copy.version + 1, status, arriving_from: null, last_event };
    if (await this.records.replace(shown, copy.version)) await this.log.record(shown);
  }

  /**
   * Either its move was decided, then it is shown; or it never will be. To be sure of that the source is written once
   * more, which makes the compare-and-set fail that would decide it.
   */
  async #settleArriving(copy: ShelfRecord): Promise<void> {
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

  async drop(copy: ShelfRecord): Promise<void> {
    const gone: ShelfRecord = { ...copy, version: copy.version + 1, status: 'deleted' };
    if (await this.records.replace(gone, copy.version)) await this.purge(gone);
  }
}

interface ShelfCollections {
  readonly records: CollectionSpec;
  readonly manifests: CollectionSpec;
  readonly events: CollectionSpec;
}

export async function openShelf<Manifest extends ManifestHead>(
  documents: Documents,
  kind: ShelfKind<Manifest>,
  specs: ShelfCollections,
): Promise<Shelf<Manifest>> {
  const changes = await openChanges(documents, kind.noun);
  return new Shelf({
    kind,
    records: await documents.collection<ShelfRecord>(specs.records),
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
  readonly entry: ShelfEntry;
}

/**
 * Entries as lists show them, kept by the version of their record. A list asks the store which records stand in it, in
 * which version, and reads only those that it does not know: to take a thousand records apart for each answer was nearly all
 * that a list cost. An id never has one version twice: a record that leaves a tenant and comes back goes on counting.
 */
export class KeptEntries {
  readonly #shelf: Shelf;
  readonly #kept = new Map<string, Kept>();

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
  }

  /** What a find of the shelf's records answers, as of one moment. */
  async read(find: Find): Promise<ShelfEntry[]> {
    for (let attempt = 0; attempt < MAX_REPAIRS; attempt += 1) {
      const stored = await this.#shelf.records.findStored(find);
      const entries: ShelfEntry[] = [];
      const unknown: string[] = [];
      for (const one of stored) {
        const entry = knownIn(this.#kept, one);
        if (entry === undefined) unknown.push(one.id);
        else entries.push(entry);
      }
      if (unknown.length === 0) return entries;
      const read = await this.#read(find, unknown);
      const all = stored.flatMap((one) => knownIn(read, one) ?? knownIn(this.#kept, one) ?? []);
      if (all.length === stored.length) return all;
      // One was written or deleted between the two questions.
    }
    return (await this.#shelf.records.find(find)).filter(isSeen).map((record) => newestEntry(this.#shelf.kind, record));
  }

  async #read({ tenant }: Find, ids: readonly string[]): Promise<ReadonlyMap<string, Kept>> {
    const read = new Map<string, Kept>();
    const records = await this.#shelf.records.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
    for (const record of records) {
      if (!isSeen(record)) continue;
      const entry = newestEntry(this.#shelf.kind, record);
      read.set(record.id, { version: record.version, entry });
      this.#keep(record, entry);
    }
    return read;
  }

  #keep(record: Stored, entry: ShelfEntry): void {
    this.#kept.delete(record.id);
    if (entry.description.length + JSON.stringify(entry.labels).length > MOST_CHARS) return;
    // Many callers are handed the same one.
    Object.freeze(entry.labels);
    this.#kept.set(record.id, { version: record.version, entry: Object.freeze(entry) });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function knownIn(kept: ReadonlyMap<string, Kept>, { tenant, id, version }: Stored): ShelfEntry | undefined {
  const known = kept.get(id);
  return known?.version === version && known.entry.tenant === tenant ? known.entry : undefined;
}
