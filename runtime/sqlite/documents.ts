import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { checkSpec } from '../documents/document-query.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { SqliteCollection } from './documents-collection.ts';
import { countsOf, countsSchemaOf } from './documents-counts.ts';
import { GroupCommit } from './documents-group.ts';
import { schemaOf } from './documents-sql.ts';
import { giveBackSpace, makeFreeable, rewriteWhenSmall } from './free-space.ts';

const BUSY_TIMEOUT_MS = 5_000;

const hasTable = (database: DatabaseSync, name: string): boolean =>
  database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name) !== undefined;

/**
 * Documents in `documents.db` of the data directory: a file and connection of its own, so that the projector's writes
 * never wait for an actor commit. An acknowledged write is on disk (synchronous FULL): the catalog's truth is here.
 */
export class SqliteDocuments implements Documents {
  readonly #directory: string;
  /** How long a call waits, with the node's only thread, for another process that has the file. */
  readonly #busyTimeoutMs: number;
  #open: { readonly database: DatabaseSync; readonly group: GroupCommit } | undefined;

  constructor(options: { readonly directory: string; readonly busyTimeoutMs?: number }) {
    this.#directory = options.directory;
    this.#busyTimeoutMs = options.busyTimeoutMs ?? BUSY_TIMEOUT_MS;
  }

  async open(): Promise<void> {
    if (this.#open !== undefined) return;
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const database = new DatabaseSync(join(this.#directory, 'documents.db'), { timeout: this.#busyTimeoutMs });
    makeFreeable(database);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    this.#open = { database, group: new GroupCommit(database) };
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    open.group.close();
    open.database.close();
  }

  /** A file of an earlier version is rewritten, once, when it is small, so that it can give space back. */
  rewriteWhenSmall(): void {
    rewriteWhenSmall(this.#opened().database);
  }

  /** Gives some of the space of deleted documents back; answers whether there is more. */
  async upkeep(): Promise<boolean> {
    const { database, group } = this.#opened();
    return group.read(() => giveBackSpace(database));
  }

  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    checkSpec(spec);
    const { database, group } = this.#opened();
    await group.run(() => {
      for (const statement of schemaOf(spec)) database.exec(statement);
      const counts = countsOf(spec);
      if (counts === undefined || hasTable(database, counts)) return;
      for (const statement of countsSchemaOf(spec)) database.exec(statement);
    });
    return new SqliteCollection<T>(database, group, spec);
  }
  #opened(): { readonly database: DatabaseSync; readonly group: GroupCommit } {
    if (this.#open === undefined)
      throw new SvcError('unavailable', 'the document store is not open', { store: 'documents' });
    return this.#open;
  }
}
