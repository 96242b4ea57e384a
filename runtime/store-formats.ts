import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from './blobs.ts';
import type { Collection, Documents, StoredDocument } from './documents.ts';
import { SvcError } from './errors.ts';
import { SYSTEM_TENANT } from './identity.ts';
import { isJsonObject, jsonOrNull } from './json.ts';

/** A fact about the documents as a whole. The `text` of a format is its note. */
export interface FactDocument extends StoredDocument {
  readonly text: string;
}

export const documentFacts = (documents: Documents): Promise<Collection<FactDocument>> =>
  documents.collection<FactDocument>({ name: 'store_facts', unique: [], indexes: [] });

/** Limit of a read, above the number of formats that can exist. */
const MOST_NOTES = 1_000;

const FILE = 'format.json';

/** Names of the stores, for error texts. */
export interface StoreNames {
  readonly store: string;
  readonly documents: string;
}

/**
 * The format notes in documents, actor store and data directory. A start checks all of them before it writes anything,
 * then writes its own. `contract` is called once no node of an older format is left.
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

  /** Whether programs of a format below `format` are refused, so that nothing has to be written for them. */
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

  /** Checks the notes in the documents, which must be open. */
  async checkDocuments(): Promise<void> {
    const name = this.#names.documents;
    const facts = await documentFacts(this.#documents);
    const found = await facts.find({ tenant: SYSTEM_TENANT, limit: MOST_NOTES });
    refuseUnreadable(
      name,
      found.filter(({ id }) => isFormatFact(id)).map(({ text }) => parseFormatNote(name, text)),
    );
  }

  /** Checks the notes in the actor store, which must be open. */
  async checkStore(): Promise<void> {
    const name = this.#names.store;
    const notes: FormatNote[] = [];
    for (const [fact, text] of await this.#store.facts()) {
      if (isFormatFact(fact)) notes.push(parseFormatNote(name, text));
    }
    refuseUnreadable(name, notes);
    this.#refusedBelow = Math.max(0, ...notes.map(({ min_reader }) => min_reader));
  }

  /** Notes that this program writes from now on. Programs of format `EXPANDS_FROM` may still write too. */
  async note(): Promise<void> {
    const facts = await this.#store.facts();
    if (!facts.has(formatFact(FORMAT))) await this.#write(EXPANDS_FROM);
    const file = join(this.#dataDir, FILE);
    const text = `${JSON.stringify(ownNote(EXPANDS_FROM))}\n`;
    if ((await readFile(file, 'utf8').catch(() => '')) === text) return;
    await writeFile(`${file}.draft`, text, { mode: 0o600, flush: true });
    await rename(`${file}.draft`, file);
  }

  /** Refuses, from now on, programs that cannot read what this one writes. The call may be repeated. */
  async contract(): Promise<void> {
    await this.#store.refuseOlderPrograms();
    await this.#write(MIN_READER);
    this.#refusedBelow = MIN_READER;
  }

  /** Refuses, from now on, programs that cannot read encrypted payloads. The call may be repeated. */
  async noteEncrypted(): Promise<void> {
    const [id, text] = [formatFact(ENCRYPTED_FORMAT), formatNoteText(ENCRYPTED_FORMAT)];
    const facts = await documentFacts(this.#documents);
    await facts.put({ tenant: SYSTEM_TENANT, id, version: ENCRYPTED_FORMAT, text });
    if (!(await this.#store.facts()).has(id)) await this.#store.keepFact(id, text);
  }

  async #write(min_reader: number): Promise<void> {
    const text = JSON.stringify(ownNote(min_reader));
    const id = formatFact(FORMAT);
    const facts = await documentFacts(this.#documents);
    await facts.put({ tenant: SYSTEM_TENANT, id, version: min_reader, text });
    // Documents skip a version that they have. The store would write its own note again, with an fsync, at each start.
    if ((await this.#store.facts()).get(id) !== text) await this.#store.keepFact(id, text);
  }
}

/**
 * Gives bytes owners only once no program of format 1 is left. Format 1 treats a reference to bytes with an owner as
 * unknown and would dead-letter its message. Bytes stored before then stay when their run is removed.
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

/** Version of the product, equal to the one in `package.json`. */
export const VERSION = '0.1.0';

/**
 * The format of all stored data: actor store, documents, data directory. It rises by one with each change of a stored
 * shape that a program of the previous format would misread or drop. Stores without a format are of format 1.
 */
export const FORMAT = 7;

/**
 * The oldest format that can read what this program writes. It takes effect once no node of an older format is left
 * (expand, then contract). Until then a program of `EXPANDS_FROM` may still write beside this one.
 */
export const MIN_READER = 7;

const EXPANDS_FROM = 1;

/**
 * Noted beside the format of a store on Redis Cluster whose partitions share hash tags (`hasSlotTags`, redis/keys.ts): programs
 * of format 3 do not know the tags, also while they may still run beside this one.
 */
export const TAGS_FORMAT = 4;

/**
 * Noted beside the format of stores in which payloads of some tenant are encrypted, from the first start with that setting on. A program of an
 * older format would take an encrypted message for a damaged one, and dead-letter it.
 */
const ENCRYPTED_FORMAT = 5;

/** The note of the programs of one format in a store. */
export interface FormatNote {
  readonly format: number;
  /** Programs of an older format than this are refused. */
  readonly min_reader: number;
  /** Version of the program. */
  readonly written_by: string;
}

export const ownNote = (min_reader: number): FormatNote => ({ format: FORMAT, min_reader, written_by: VERSION });

/** Text of the note that refuses programs which do not read `format`. */
export const formatNoteText = (format: number): string =>
  JSON.stringify({ format, min_reader: format, written_by: VERSION } satisfies FormatNote);

/** Parses the text of a note. Throws `failed_precondition` for a note that no version so far has written. */
export function parseFormatNote(store: string, text: string): FormatNote {
  const found = jsonOrNull(text);
  const { format, min_reader, written_by } = isJsonObject(found) ? found : {};
  if (typeof format !== 'number' || typeof min_reader !== 'number' || typeof written_by !== 'string') {
    throw new SvcError('failed_precondition', `${store} has a format note that svc ${VERSION} cannot read`);
  }
  return { format, min_reader, written_by };
}

/** Throws `failed_precondition` when the notes demand a newer format than this program reads. */
export function refuseUnreadable(store: string, notes: readonly FormatNote[]): void {
  const newest = notes.reduce<FormatNote | null>((a, b) => (a === null || b.min_reader > a.min_reader ? b : a), null);
  if (newest === null || newest.min_reader <= FORMAT) return;
  throw new SvcError(
    'failed_precondition',
    `${store} has format ${newest.format}, written by svc ${newest.written_by}, and this is svc ${VERSION}, which reads ` +
      `formats 1 to ${FORMAT}: nothing was changed; start the newer version, or restore all stores from backups that the ` +
      'older version wrote',
  );
}

/** A small number of facts about the store as a whole, kept beside the data of the partitions. */
export interface StoreFacts {
  /** Returns all facts by name. */
  facts(): Promise<ReadonlyMap<string, string>>;
  /** Writes a fact; durable when it resolves. The last value of a name holds. */
  keepFact(name: string, value: string): Promise<void>;
  /**
   * Makes programs of format 1, which know no facts, fail at their start from now on. No node of that format may be
   * running.
   */
  refuseOlderPrograms(): Promise<void>;
}

/**
 * Name of the fact with the note of one format. Each format has a fact of its own, so that none overwrites another's.
 */
export const formatFact = (format: number): string => `format.${format}`;

const isFormatFact = (name: string): boolean => name.startsWith('format.');

/**
 * Name of the fact with the last projection round that a node has finished. Everything that the node removed from the
 * log before that round is in the documents.
 */
export const roundFact = (node: string): string => `round.${node}`;

export const nodeOfRound = (name: string): string | null => (name.startsWith('round.') ? name.slice(6) : null);
