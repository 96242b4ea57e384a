import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from 'mongodb';
import { SvcError } from '../errors.ts';
import { OneAtATimePerKey } from '../kit/queues.ts';
import { isDuplicate } from './failures.ts';
import type { Row, Rows } from './session.ts';
import { conflict, refusedPositions, storedVersion, type VersionedWrites } from './versioned-writes.ts';

const PUT_ATTEMPTS = 3;

const PUTS_AT_ONCE = 8;

/** Queues by namespace and key for the whole process, because two connections must wait for each other too. */
const queues = new OneAtATimePerKey();

/**
 * Writes for FerretDB 1. There, a conditional update is a read and a write, not one step (with 50 concurrent updates an
 * older version survived), and an index helps only a filter by `_id` alone (decision 0020). So writers of one id take
 * turns in this process, and those that compare versions (`replace`, `remove`) also take turns with other processes. A
 * `put` is not guarded between processes, because such a document has one writer at a time (a partition's projector).
 */
export class SerialisedWrites implements VersionedWrites {
  readonly #rows: Rows;
  readonly #shared: RowLocks;

  constructor(rows: Rows, shared: RowLocks) {
    this.#rows = rows;
    this.#shared = shared;
  }

  put(row: Row): Promise<boolean> {
    return this.#inTurn(row._id, async () => {
      for (let attempt = 1; ; attempt += 1) {
        const stored = await storedVersion(this.#rows, row._id);
        if (stored !== undefined && stored >= row.version) return false;
        try {
          if (stored === undefined) {
            await this.#rows.ask((rows) => rows.insertOne(row));
            return true;
          }
          const result = await this.#rows.ask((rows) => rows.replaceOne({ _id: row._id }, row));
          if (result.matchedCount === 1) return true;
        } catch (error) {
          if (!isDuplicate(error)) throw error;
          if (attempt === PUT_ATTEMPTS) throw conflict(error);
        }
      }
    });
  }

  /**
   * Writes many rows. Most are new, so all are inserted and the server reports those that exist: reading first would
   * scan.
   */
  async putMany(rows: readonly Row[]): Promise<void> {
    const [only] = rows;
    if (only !== undefined && rows.length === 1) return this.#putNew(only);
    const inserted = this.#rows.ask((all) => all.insertMany([...rows], { ordered: false }));
    const refused = await inserted.then(() => [], refusedPositions);
    const again = refused.flatMap((position) => rows[position] ?? []);
    for (let at = 0; at < again.length; at += PUTS_AT_ONCE) {
      await Promise.all(again.slice(at, at + PUTS_AT_ONCE).map((row) => this.put(row)));
    }
  }

  /** A bulk write of one row makes a third more garbage than an insert, and most writes of a node without load are of one row. */
  async #putNew(row: Row): Promise<void> {
    try {
      await this.#rows.ask((rows) => rows.insertOne(row));
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      await this.put(row);
    }
  }

  replace(row: Row, expected: number): Promise<boolean> {
    return this.#comparing(row._id, expected, async () => {
      try {
        const result = await this.#rows.ask((rows) => rows.replaceOne({ _id: row._id }, row));
        return result.matchedCount === 1;
      } catch (error) {
        if (isDuplicate(error)) throw conflict(error);
        throw error;
      }
    });
  }

  remove(key: string, expected: number): Promise<boolean> {
    return this.#comparing(key, expected, async () => {
      const result = await this.#rows.ask((rows) => rows.deleteOne({ _id: key }));
      return result.deletedCount === 1;
    });
  }

  /** Runs a write while no other comparing writer can write the row, and only over the expected version. */
  #comparing(key: string, expected: number, write: () => Promise<boolean>): Promise<boolean> {
    return this.#inTurn(key, () =>
      this.#shared.take(`${this.#rows.namespace}/${key}`, async (mayWrite) => {
        if ((await storedVersion(this.#rows, key)) !== expected) return false;
        mayWrite();
        return write();
      }),
    );
  }

  #inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    return queues.run(`${this.#rows.namespace}/${key}`, work);
  }
}

/** A lock on a row. `_id` names the row, or the ended lock of the holder. */
export type RowLock = { _id: string; holder: string };

/** Makes one call of the driver on the collection of locks. */
type AskLocks = <T>(call: (locks: Collection<RowLock>) => Promise<T>) => Promise<T>;

/**
 * A lock covers a read and a write. A process that holds one for longer counts as dead; a process that notices this
 * about itself does not write.
 */
const DEAD_AFTER_MS = 5_000;

const WRITE_WITHIN_MS = 2_500;

const LONGEST_PAUSE_MS = 40;

const WAIT_AT_MOST_MS = 30_000;

const MARKS = 500;

const MARK_KEPT_MS = 600_000;

/**
 * Locks on rows between processes, for a server whose only atomic step is the insert of an id (FerretDB 1). A waiter
 * ends the lock of a dead process by inserting a mark for its end, which only one waiter can do. Waiters measure with
 * their own clocks.
 */
export class RowLocks {
  readonly #ask: AskLocks;
  /** Marks of ended locks, each with the time since when this process knows it. */
  #marks: ReadonlyMap<string, number> = new Map();

  constructor(ask: AskLocks) {
    this.#ask = ask;
  }

  /**
   * Takes the lock of a row and runs work. Throws `unavailable` after 30 s of waiting. `mayWrite` throws it when the
   * lock was held for too long to write.
   */
  async take<T>(row: string, work: (mayWrite: () => void) => Promise<T>): Promise<T> {
    const holder = randomUUID();
    await this.#begin(row, holder);
    const since = performance.now();
    const held = (): number => performance.now() - since;
    try {
      return await work(() => {
        if (held() < WRITE_WITHIN_MS) return;
        const text =
          'the document store is too slow: the lock of this document was held too long, so nothing was written';
        throw new SvcError('unavailable', text, { store: 'documents' });
      });
    } finally {
      // Later than this, other processes may have ended the lock and taken their own.
      if (held() < DEAD_AFTER_MS / 2) await this.#ask((locks) => locks.deleteOne({ _id: row }));
    }
  }

  async #begin(row: string, holder: string): Promise<void> {
    let seen = '';
    const askedAt = performance.now();
    let seenSince = askedAt;
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      if (await this.#insert({ _id: row, holder })) return;
      const other = (await this.#ask((locks) => locks.findOne({ _id: row })))?.holder ?? '';
      if (other !== seen) [seen, seenSince] = [other, performance.now()];
      else if (other !== '' && performance.now() - seenSince > DEAD_AFTER_MS) await this.#end(row, other);
      if (performance.now() - askedAt > WAIT_AT_MOST_MS) throw tooMany();
      await sleep(pauseMs * Math.random());
    }
  }

  /**
   * Ends the lock of a dead holder. Only one process can: the mark stays, so that a late process does not end another
   * lock instead.
   */
  async #end(row: string, holder: string): Promise<void> {
    if (await this.#insert({ _id: `${row} ended ${holder}`, holder }))
      await this.#ask((locks) => locks.deleteOne({ _id: row }));
  }

  /**
   * Deletes marks that are at least ten minutes old, when no waiter can still hold the name of that lock. Returns
   * whether there may be more.
   */
  async sweep(): Promise<boolean> {
    const marks = await this.#ask((locks) => locks.find({ _id: / ended / }, { limit: MARKS }).toArray());
    const now = performance.now();
    const known = this.#marks;
    this.#marks = new Map(marks.map(({ _id }) => [_id, known.get(_id) ?? now]));
    const old = [...this.#marks].filter(([, since]) => now - since > MARK_KEPT_MS).map(([id]) => id);
    for (const id of old) await this.#ask((locks) => locks.deleteOne({ _id: id }));
    return old.length === MARKS;
  }

  async #insert(lock: RowLock): Promise<boolean> {
    try {
      await this.#ask((locks) => locks.insertOne(lock));
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }
}

const tooMany = (): SvcError =>
  new SvcError('unavailable', 'too many calls write this document at the same time; repeat the call', {
    retryAfterMs: 1_000,
    store: 'documents',
  });
