import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from './blobs.ts';
import type { Collection, Documents, StoredDocument } from './documents.ts';
import {
  EXPANDS_FROM,
  FORMAT,
  type FormatNote,
  MIN_READER,
  ownNote,
  parseFormatNote,
  refuseUnreadable,
} from './format.ts';
import { SYSTEM_TENANT } from './identity.ts';
import { formatFact, isFormatFact, type StoreFacts } from './store-facts.ts';

/** Facts about the documents as a whole; `text` of a format is its note. */
export interface FactDocument extends StoredDocument {
  readonly text: string;
}

export const documentFacts = (documents: Documents): Promise<Collection<FactDocument>> =>
  documents.collection<FactDocument>({ name: 'store_facts', unique: [], indexes: [] });

/** More formats than there will be. */
const MOST_NOTES = 1_000;
const FILE = 'format.json';

/** Names of the stores in messages. */
export interface StoreNames {
  readonly store: string;
  readonly documents: string;
}

/**
 * The format notes in documents, actor store and data directory. A start checks all of them before it writes anything, then
 * leaves its own. `contract` is called once no node of an older format is left.
 */
export class StoreFormats {
  readonly #names: StoreNames;
  readonly #dataDir: string;
  readonly #store: StoreFacts;
  readonly #documents: Documents;
  #refusedBelow = 0;

  constructor(parts: {
    readonly names: StoreNames;
    readonly dataDir: string;
    readonly store: StoreFacts;
    readonly documents: Documents;
  }) {
    this.#names = parts.names;
    this.#dataDir = parts.dataDir;
    this.#store = parts.store;
    this.#documents = parts.documents;
  }

  /** Whether programs of a format before `format` are refused, so that nothing has to be written for them. */
  isAlone(format: number): boolean {
    return this.#refusedBelow >= format;
  }

  async checkDataDirectory(): Promise<void> {
    const name = `the data directory ${this.#dataDir}`;
    const text = await readFile(join(this.#dataDir, FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (text !== null) refuseUnreadable(name, [parseFormatNote(name, text)]);
  }

  /** Documents must be open. */
  async checkDocuments(): Promise<void> {
    const name = this.#names.documents;
    const facts = await documentFacts(this.#documents);
    const found = await facts.find({ tenant: SYSTEM_TENANT, limit: MOST_NOTES });
    refuseUnreadable(
      name,
      found.filter(({ id }) => isFormatFact(id)).map(({ text }) => parseFormatNote(name, text)),
    );
  }

  /** The actor store must be open. */
  async checkStore(): Promise<void> {
    const name = this.#names.store;
    const notes: FormatNote[] = [];
    for (const [fact, text] of await this.#store.facts()) {
      if (isFormatFact(fact)) notes.push(parseFormatNote(name, text));
    }
    refuseUnreadable(name, notes);
    this.#refusedBelow = Math.max(0, ...notes.map(({ min_reader }) => min_reader));
  }

  /** This program writes from now on; one of `EXPANDS_FROM` may still do so too. */
  async note(): Promise<void> {
    const facts = await this.#store.facts();
    if (!facts.has(formatFact(FORMAT))) await this.#write(EXPANDS_FROM);
    const file = join(this.#dataDir, FILE);
    const text = `${JSON.stringify(ownNote(EXPANDS_FROM))}\n`;
    if ((await readFile(file, 'utf8').catch(() => '')) === text) return;
    await writeFile(`${file}.draft`, text, { mode: 0o600, flush: true });
    await rename(`${file}.draft`, file);
  }

  /** Programs that cannot read what this one writes are refused from now on. May be repeated. */
  async contract(): Promise<void> {
    await this.#store.refuseOlderPrograms();
    await this.#write(MIN_READER);
    this.#refusedBelow = MIN_READER;
  }

  async #write(min_reader: number): Promise<void> {
    const text = JSON.stringify(ownNote(min_reader));
    const facts = await documentFacts(this.#documents);
    await facts.put({ tenant: SYSTEM_TENANT, id: formatFact(FORMAT), version: min_reader, text });
    await this.#store.keepFact(formatFact(FORMAT), text);
  }
}

/**
 * Format 1 takes a reference to bytes with an owner for unknown, and would dead-letter its message. So bytes get owners once
 * no program of format 1 is left; those stored before then stay when their run is removed.
 */
export function ownedOnceContracted(blobs: Blobs, formats: Pick<StoreFormats, 'isAlone'>): Blobs {
  return {
    open: () => blobs.open(),
    close: () => blobs.close(),
    put: (tenant, bytes, owner) => blobs.put(tenant, bytes, formats.isAlone(2) ? owner : undefined),
    get: (tenant, ref) => blobs.get(tenant, ref),
    delete: (tenant, ref) => blobs.delete(tenant, ref),
    deleteOwned: (tenant, owner) => blobs.deleteOwned(tenant, owner),
  };
}
