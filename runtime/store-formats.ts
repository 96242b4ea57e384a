import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from './blobs.ts';
import type { Collection, Documents, StoredDocument } from './documents.ts';
import { SvcError } from './errors.ts';
import { SYSTEM_TENANT } from './identity.ts';

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

/** Of the product, as `package.json` and every node say it. */
export const VERSION = '0.1.0';

/**
 * The format of all that is stored: actor store, documents, data directory. Rises by one with each change of a stored shape
 * that a program of the format before would misread or drop. Stores without a format are of format 1.
 */
export const FORMAT = 3;

/**
 * Programs of an older format than this one cannot read what this program writes. It is in force once no node of an older
 * format is left (expand, then contract); until then a program of `EXPANDS_FROM` may still write beside this one.
 */
export const MIN_READER = 3;

const EXPANDS_FROM = 1;

/**
 * Beside it this program reads and writes one more: a store on Redis Cluster that was made by it, whose partitions have hash
 * tags together (redis/slot-tags.ts). All other stores stay as they are.
 */
export const TAGS_FORMAT = 4;

export const NEWEST_READ = TAGS_FORMAT;

/** What programs of one format left in a store. */
export interface FormatNote {
  readonly format: number;
  /** Programs of an older format are refused. */
  readonly min_reader: number;
  /** Version of the program. */
  readonly written_by: string;
}

export const ownNote = (min_reader: number): FormatNote => ({ format: FORMAT, min_reader, written_by: VERSION });

/** The note that refuses programs which do not read `format`. */
export const formatNoteText = (format: number): string =>
  JSON.stringify({ format, min_reader: format, written_by: VERSION } satisfies FormatNote);

/** The note a text holds. Throws `failed_precondition`: a note that cannot be read is not of any version so far. */
export function parseFormatNote(store: string, text: string): FormatNote {
  const found = fieldsOf(text);
  const { format, min_reader, written_by } = found;
  if (typeof format !== 'number' || typeof min_reader !== 'number' || typeof written_by !== 'string') {
    throw new SvcError('failed_precondition', `${store} has a format note that svc ${VERSION} cannot read`);
  }
  return { format, min_reader, written_by };
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Throws `failed_precondition` when a program of this format cannot read what such notes were left with. */
export function refuseUnreadable(store: string, notes: readonly FormatNote[]): void {
  const newest = notes.reduce<FormatNote | null>((a, b) => (a === null || b.min_reader > a.min_reader ? b : a), null);
  if (newest === null || newest.min_reader <= NEWEST_READ) return;
  throw new SvcError(
    'failed_precondition',
    `${store} has format ${newest.format}, written by svc ${newest.written_by}, and this is svc ${VERSION}, which reads ` +
      `formats 1 to ${NEWEST_READ}: nothing was changed; start the newer version, or restore all stores from backups that the ` +
      'older version wrote',
  );
}

/** Facts about a store as a whole, small and few, beside what the partitions hold. */
export interface StoreFacts {
  /** All facts by name. */
  facts(): Promise<ReadonlyMap<string, string>>;
  /** Durable when it resolves; the last value of a name holds. */
  keepFact(name: string, value: string): Promise<void>;
  /** From now on a program of format 1, which knows no facts, fails at its start. No node of it may be running. */
  refuseOlderPrograms(): Promise<void>;
}

/** What programs of one format left: each format has a fact of its own, so that none overwrites another's. */
export const formatFact = (format: number): string => `format.${format}`;

const isFormatFact = (name: string): boolean => name.startsWith('format.');

/** The round of projection that a node has finished: everything it removed from the log before is in documents. */
export const roundFact = (node: string): string => `round.${node}`;

export const nodeOfRound = (name: string): string | null => (name.startsWith('round.') ? name.slice(6) : null);
