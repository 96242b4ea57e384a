import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { checkSpec } from '../documents/document-query.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { openDocumentsFile, storeError } from './database.ts';
import { SqliteCollection } from './documents-collection.ts';
import { DocumentsWriter } from './documents-thread.ts';
import type { DocumentOutcome, DocumentWrite } from './documents-write.ts';
import { rewriteWhenSmall } from './free-space.ts';

const BUSY_TIMEOUT_MS = 5_000;

/** An idle node writes some documents a second, and does without the thread. */
const THREAD_FROM_ROWS = 200;

const QUIET_MS = 30_000;

export interface SqliteDocumentsOptions {
  readonly directory: string;
  /** How long a write waits for another process that has the file. */
  readonly busyTimeoutMs?: number;
  readonly threadFromRows?: number;
  readonly quietMs?: number;
  readonly warn?: (message: string, error: unknown) => void;
}

interface Open {
  readonly database: DatabaseSync;
  readonly group: GroupCommit;
  readonly writer: DocumentsWriter;
}

/**
 * Documents in `documents.db` of the data directory: a file and connection of its own, so that the projector's writes
 * never wait for an actor commit. An acknowledged write is on disk (synchronous FULL): the catalog's truth is here.
 * Reads run on the caller's thread: they see what is committed, whichever thread committed it.
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
    } catch (error) {
      database.close();
      throw error;
    }
    this.#open = { database, writer, group: new GroupCommit(writer) };
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

  /** A file of an earlier version is rewritten, once, when it is small, so that it can give space back. */
  rewriteWhenSmall(): void {
    rewriteWhenSmall(this.#opened().database);
  }

  /** Gives some of the space of deleted documents back; answers whether there is more. */
  async upkeep(): Promise<boolean> {
    return (await this.#opened().group.run({ do: 'giveBackSpace' })) > 0;
  }

  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    checkSpec(spec);
    const { database, group } = this.#opened();
    await group.run({ do: 'schema', spec });
    return new SqliteCollection<T>(database, group, spec);
  }

  #opened(): Open {
    if (this.#open === undefined)
      throw new SvcError('unavailable', 'the document store is not open', { store: 'documents' });
    return this.#open;
  }
}

interface Waiting {
  readonly write: DocumentWrite;
  readonly rows: number;
  readonly chars: number;
  readonly settle: (outcome: DocumentOutcome) => void;
}

/** Of one transaction. Beyond it the event loop gets a turn first. */
const GROUP_ROWS = 256;

const GROUP_CHARS = 4_000_000;

/** Groups on their way to another thread and back: while one is written, the next is there. */
const MOST_SENT = 2;

/** Beyond it a write is refused: a disk that is too slow must not fill memory. */
const MOST_WAITING_CHARS = 128_000_000;

/**
 * Group commit: writes that arrive in the same tick share one transaction and so one fsync (design K10), and so do those
 * that arrive while others are written. A promise settles after COMMIT, never before.
 */
export class GroupCommit {
  readonly #writer: Pick<DocumentsWriter, 'apply'>;
  #waiting: Waiting[] = [];
  #waitingChars = 0;
  #scheduled = false;
  #closed = false;
  readonly #sent = new Set<Promise<void>>();

  constructor(writer: Pick<DocumentsWriter, 'apply'>) {
    this.#writer = writer;
  }

  /** Answers how many documents were written or removed, once that is durable. */
  run(write: DocumentWrite): Promise<number> {
    if (this.#closed) return Promise.reject(isClosed());
    if (this.#waitingChars > MOST_WAITING_CHARS) return Promise.reject(isFull());
    return new Promise<number>((resolve, reject) => {
      const settle = (outcome: DocumentOutcome): void => {
        if (typeof outcome === 'number') resolve(outcome);
        else reject(outcome);
      };
      const [rows, chars] = sizeOf(write);
      this.#waiting.push({ write, rows, chars, settle });
      this.#waitingChars += chars;
      this.#schedule();
    });
  }

  /** Reads what is committed: nothing runs between the statements of a group. */
  read<T>(work: () => T): T {
    if (this.#closed) throw isClosed();
    try {
      return work();
    } catch (error) {
      throw storeError(error, 'documents');
    }
  }

  /** Commits what waits; later writes are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#waiting.length > 0 || this.#sent.size > 0) {
      this.#flush();
      // A race of none never ends: what this thread wrote is done already.
      if (this.#sent.size > 0) await Promise.race(this.#sent);
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#waiting.length === 0 || this.#sent.size >= MOST_SENT) return;
    const group = this.#take();
    const rows = group.reduce((sum, one) => sum + one.rows, 0);
    const outcomes = this.#writer.apply(
      group.map(({ write }) => write),
      rows,
    );
    if (!(outcomes instanceof Promise)) settleAll(group, outcomes);
    else {
      const sent: Promise<void> = outcomes.then((all) => {
        this.#sent.delete(sent);
        settleAll(group, all);
        if (this.#waiting.length > 0) this.#schedule();
      });
      this.#sent.add(sent);
    }
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** At least one write, however large it is. */
  #take(): Waiting[] {
    let [rows, chars] = [0, 0];
    const end = this.#waiting.findIndex((one, index) => {
      rows += one.rows;
      chars += one.chars;
      return index > 0 && (rows > GROUP_ROWS || chars > GROUP_CHARS);
    });
    const group = this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
    for (const one of group) this.#waitingChars -= one.chars;
    return group;
  }
}

/** Documents and characters of a write. */
function sizeOf(write: DocumentWrite): [rows: number, chars: number] {
  const charsOf = ([, id, , fields, rest]: readonly [string, string, number, string, string]): number =>
    id.length + fields.length + rest.length;
  if (write.do === 'put') return [write.rows.length, write.rows.reduce((sum, row) => sum + charsOf(row), 0)];
  return [1, write.do === 'insert' || write.do === 'replace' ? charsOf(write.row) : 100];
}

function settleAll(group: readonly Waiting[], outcomes: readonly DocumentOutcome[]): void {
  for (const [index, { settle }] of group.entries()) settle(outcomes[index] ?? isClosed());
}

const isClosed = (): SvcError => new SvcError('unavailable', 'the document store is closed', { store: 'documents' });

const isFull = (): SvcError =>
  new SvcError('unavailable', 'too much waits to be written into the document store', {
    store: 'documents',
    retryAfterMs: 1_000,
  });
