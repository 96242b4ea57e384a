import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { checkSpec } from '../documents/document-query.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { openDocumentsFile, rewriteWhenSmall } from './database.ts';
import { SqliteCollection } from './documents-collection.ts';
import { GroupCommit } from './documents-group.ts';
import { DocumentsWriter } from './documents-thread.ts';
import { isMade, namesIn } from './documents-write.ts';

const BUSY_TIMEOUT_MS = 5_000;

/** Documents within a second that start the thread. An idle node writes some documents a second without it. */
const THREAD_FROM_ROWS = 200;

const QUIET_MS = 30_000;

export interface SqliteDocumentsOptions {
  readonly directory: string;
  /** How long a write waits for another process that has locked the file. */
  readonly busyTimeoutMs?: number;
  readonly threadFromRows?: number;
  readonly quietMs?: number;
  readonly warn?: (message: string, error: unknown) => void;
}

interface Open {
  readonly database: DatabaseSync;
  readonly group: GroupCommit;
  readonly writer: DocumentsWriter;
  /** Tables and indexes that the file had when it was opened. */
  readonly names: ReadonlySet<string>;
}

/**
 * Documents in `documents.db` of the data directory. It is a file and connection of its own, so that the projector's
 * writes never wait for an actor commit. An acknowledged write is on disk (synchronous FULL), because the catalog is
 * stored here only. Reads run on the caller's thread and see committed data, whichever thread committed it.
 */
export class SqliteDocuments implements Documents {
  readonly #options: SqliteDocumentsOptions;
  #open: Open | undefined;

  constructor(options: SqliteDocumentsOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    if (this.#open !== undefined) return;
    const { directory, busyTimeoutMs = BUSY_TIMEOUT_MS, warn = () => {} } = this.#options;
    const { threadFromRows = THREAD_FROM_ROWS, quietMs = QUIET_MS } = this.#options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, 'documents.db');
    const database = openDocumentsFile(path, busyTimeoutMs);
    const writer = new DocumentsWriter(database, { path, busyTimeoutMs, threadFromRows, quietMs, warn });
    try {
      await writer.open();
      this.#open = { database, writer, group: new GroupCommit(writer), names: namesIn(database) };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    await open.group.close();
    await open.writer.close();
    open.database.close();
  }

  /** Whether a thread of its own writes now. */
  get hasThread(): boolean {
    return this.#open?.writer.hasThread === true;
  }

  /** Rewrites a small file of an earlier version once, so that it can return space. */
  rewriteWhenSmall(): void {
    rewriteWhenSmall(this.#opened().database);
  }

  /** Gives some of the space of deleted documents back to the file system. Returns whether there is more. */
  async upkeep(): Promise<boolean> {
    return (await this.#opened().group.run({ do: 'giveBackSpace' })) > 0;
  }

  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    checkSpec(spec);
    const { database, group, names } = this.#opened();
    if (!isMade(spec, names)) group.use(spec);
    return new SqliteCollection<T>(database, group, spec);
  }

  #opened(): Open {
    if (this.#open === undefined)
      throw new SvcError('unavailable', 'the document store is not open', { store: 'documents' });
    return this.#open;
  }
}
