import type { DatabaseSync } from 'node:sqlite';
import { SvcError } from '../errors.ts';
import { storeError } from './database.ts';

interface Waiting {
  /** Does the writing and answers what to call once it is durable. */
  readonly write: () => () => void;
  readonly fail: (reason: unknown) => void;
}

/** Writes in one transaction; beyond it the event loop gets a turn first. */
const GROUP_LIMIT = 256;

/**
 * Group commit: writes that arrive in the same tick share one transaction and so one fsync (design K10). A promise
 * settles after COMMIT, never before; a write that fails on its own (a unique conflict) does not touch the others.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  #waiting: Waiting[] = [];
  #scheduled = false;
  #closed = false;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  run<T>(work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(isClosed());
    return new Promise<T>((resolve, reject) => {
      const write = () => {
        const result = work();
        return () => resolve(result);
      };
      this.#waiting.push({ write, fail: reject });
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
  close(): void {
    while (this.#waiting.length > 0) this.#flush();
    this.#closed = true;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#waiting.length === 0) return;
      this.#flush();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #flush(): void {
    const group = this.#waiting.splice(0, GROUP_LIMIT);
    const settled: (() => void)[] = [];
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      for (const { write, fail } of group) settled.push(this.#one(write, fail));
      this.#database.exec('COMMIT');
    } catch (cause) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      const said = cause instanceof Error ? cause.message : 'unknown';
      const text = `the document store could not commit: ${said}`;
      const error = new SvcError('unavailable', text, { store: 'documents', cause });
      for (const { fail } of group) fail(error);
      return;
    }
    for (const settle of settled) settle();
  }

  #one(write: () => () => void, fail: (reason: unknown) => void): () => void {
    this.#database.exec('SAVEPOINT one');
    try {
      const settle = write();
      this.#database.exec('RELEASE one');
      return settle;
    } catch (error) {
      // A full disk or an I/O error ends the whole transaction: then every write of the group failed.
      if (!this.#database.isTransaction) throw error;
      this.#database.exec('ROLLBACK TO one; RELEASE one');
      return () => fail(error);
    }
  }
}

const isClosed = (): SvcError => new SvcError('unavailable', 'the document store is closed', { store: 'documents' });
