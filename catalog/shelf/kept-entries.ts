import type { Find, Stored } from '../../runtime/documents.ts';
import { newestEntry, type ShelfEntry } from './entry.ts';
import { isSeen } from './record.ts';
import type { Shelf } from './shelf.ts';

/** A page of the longest list several times over. */
const MOST_KEPT = 10_000;
/** An entry with more words than that is read again each time. */
const MOST_CHARS = 4_096;
/** Somebody writes all the time: then the page is read as a whole. */
const MAX_ATTEMPTS = 3;

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
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
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
