import { type IndexDescription, MongoServerError } from 'mongodb';
import { checkSpec } from '../documents/document-query.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../documents.ts';
import { Lazy } from '../kit/lazy.ts';
import { MongoCollection, uniqueField } from './collection.ts';
import { MongoConnection, type MongoOptions } from './connection.ts';
import { type RowLock, RowLocks, SerialisedWrites } from './serialised-writes.ts';
import type { Rows } from './session.ts';
import { AtomicWrites } from './versioned-writes.ts';

interface MongoDocumentsOptions extends MongoOptions {
  /** Whether the server's conditional updates are atomic (FerretDB's are not). Default: the server is asked. */
  readonly atomicUpdates?: boolean;
}

const NAMESPACE_NOT_FOUND = 26;
/** Collection of row locks. No collection of documents has a capital letter in its name. */
const TURNS = 'Turns';

function indexesOf(spec: CollectionSpec): IndexDescription[] {
  const named = (prefix: string, tuple: readonly string[]) => `${prefix}_${tuple.join('_')}`;
  const { beside = [] } = spec;
  const one = (field: string): [string, 1] => [field, 1];
  const found = (tuple: readonly string[]): IndexDescription => ({
    name: named(['by', ...beside].join('_'), tuple),
    key: new Map([['tenant', 1], ...tuple.map(one), ['_id', 1], ...beside.map(one)]),
  });
  const unique = (tuple: readonly string[]): IndexDescription => ({
    name: named('unique', tuple),
    key: new Map([
      ['tenant', 1],
      [uniqueField(tuple), 1],
    ]),
    unique: true,
  });
  const searched = new Map([...spec.unique, ...spec.indexes].map((tuple) => [named('by', tuple), tuple]));
  return [...spec.unique.map(unique), ...[...searched.values()].map(found)];
}

/**
 * Creates the missing indexes one by one, after reading the existing ones: FerretDB 1 drops the connection when it is
 * asked to create several indexes that all exist.
 */
async function createMissing(rows: Rows, indexes: readonly IndexDescription[]): Promise<void> {
  const present = await rows
    .look((all) => all.indexes())
    .catch((error: unknown) => {
      if (error instanceof MongoServerError && error.code === NAMESPACE_NOT_FOUND) return [];
      throw error;
    });
  const names = new Set(present.map((index) => index.name));
  for (const index of indexes) {
    if (!names.has(index.name)) await rows.ask((all) => all.createIndexes([index]));
  }
}

/** Rows of a collection whose indexes are created before its first call. */
function onceMade(rows: Rows, made: Lazy<void>): Rows {
  return {
    namespace: rows.namespace,
    async ask(call) {
      await made.get();
      return rows.ask(call);
    },
    async look(call) {
      await made.get();
      return rows.look(call);
    },
  };
}

/**
 * Documents in MongoDB: only idempotent writes of single documents, no transactions, no TTL indexes, no change streams.
 */
export class MongoDocuments implements Documents {
  readonly #connection: MongoConnection;
  readonly #rowLocks: RowLocks;
  readonly #asked: boolean | undefined;
  #atomicUpdates = true;
  /** The creation of indexes, by specification: parts of a node open the same collections, and some use none of them. */
  readonly #made = new Map<string, Lazy<void>>();

  constructor(options: MongoDocumentsOptions) {
    this.#connection = new MongoConnection(options);
    this.#rowLocks = new RowLocks((call) =>
      this.#connection.session.ask((database) => call(database.collection<RowLock>(TURNS))),
    );
    this.#asked = options.atomicUpdates;
  }

  async open(): Promise<void> {
    await this.#connection.open();
    try {
      const { session } = this.#connection;
      const build = await session.run(() => session.ask((database) => database.command({ buildInfo: 1 })));
      this.#atomicUpdates = this.#asked ?? build.ferretdbVersion === undefined;
    } catch (error) {
      await this.#connection.close();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#made.clear();
    return this.#connection.close();
  }

  /** Deletes marks of row locks that ended long ago (`RowLocks.sweep`). */
  async upkeep(): Promise<boolean> {
    return this.#atomicUpdates ? false : this.#rowLocks.sweep();
  }

  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    checkSpec(spec);
    const { session } = this.#connection;
    const rows = onceMade(session.rows(spec.name), this.#creation(spec));
    const writes = this.#atomicUpdates ? new AtomicWrites(rows) : new SerialisedWrites(rows, this.#rowLocks);
    return new MongoCollection<T>(session, rows, spec, writes);
  }

  #creation(spec: CollectionSpec): Lazy<void> {
    const key = JSON.stringify(spec);
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const { session } = this.#connection;
    // A failure is made public here: a writer would take that of a unique index for one of its own document.
    const creation = new Lazy(() => session.run(() => createMissing(session.rows(spec.name), indexesOf(spec))));
    this.#made.set(key, creation);
    return creation;
  }
}
