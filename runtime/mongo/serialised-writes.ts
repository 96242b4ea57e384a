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

/** By namespace and key, for the whole process: two connections must wait for each other too. */
const queues = new OneAtATimePerKey();

/**
 * FerretDB 1: a conditional update is a read and a write there, not one step (of 50 concurrent ones an older version
 * survived), and all that an index can help is a filter by a bare `_id` (decision 0020). So writers of one id take turns in this process, and
 * those that compare (`replace`, `remove`) with other processes too. A `put` is not guarded between processes: what is
 * put has one writer at a time (a partition's projector).
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

  /** Most rows are new, so all are inserted and the server says which were there: to ask first would scan. */
  async putMany(rows: readonly Row[]): Promise<void> {
    const inserted = this.#rows.ask((all) => all.insertMany([...rows], { ordered: false }));
    const refused = await inserted.then(() => [], refusedPositions);
    const again = refused.flatMap((position) => rows[position] ?? []);
    for (let at = 0; at < again.length; at += PUTS_AT_ONCE) {
      await Promise.all(again.slice(at, at + PUTS_AT_ONCE).map((row) => this.put(row)));
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

  /** Writes while nobody else who compares can, and only over the version. */
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

/** Whose turn it is with a row. `_id` names the row, or the turn that was ended for its holder. */
export type RowLock = { _id: string; holder: string };

/** One call of the driver on the collection of locks. */
type AskLocks = <T>(call: (locks: Collection<RowLock>) => Promise<T>) => Promise<T>;

/** A turn is a read and a write. Whoever holds one for longer is taken for dead; who notices it of itself writes nothing. */
const DEAD_AFTER_MS = 5_000;

const WRITE_WITHIN_MS = 2_500;

const LONGEST_PAUSE_MS = 40;

const WAIT_AT_MOST_MS = 30_000;

const MARKS = 500;

const MARK_KEPT_MS = 600_000;

/**
 * Turns of several processes at one row, for a server whose only atomic step is the insert of an id (FerretDB 1). The
 * turn of a dead process is ended by whoever inserts the mark of its end, so by one. Waiters measure with their own clock.
 */
export class RowLocks {
  readonly #ask: AskLocks;
  /** Marks of ended turns, since when this process knows them. */
  #marks: ReadonlyMap<string, number> = new Map();

  constructor(ask: AskLocks) {
    this.#ask = ask;
  }

  /** Throws `unavailable` after 30 s of waiting; `mayWrite` does when the turn took too long to write in it. */
  async take<T>(row: string, work: (mayWrite: () => void) => Promise<T>): Promise<T> {
    const holder = randomUUID();
    await this.#begin(row, holder);
    const since = performance.now();
    const held = (): number => performance.now() - since;
    try {
      return await work(() => {
        if (held() < WRITE_WITHIN_MS) return;
        const text = 'the document store is too slow for a write that others wait for';
        throw new SvcError('unavailable', text, { store: 'documents' });
      });
    } finally {
      // Later others may have ended it and begun their own.
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

  /** One process may: the mark stays, so that no later one takes another's turn for this one. */
  async #end(row: string, holder: string): Promise<void> {
    if (await this.#insert({ _id: `${row} ended ${holder}`, holder }))
      await this.#ask((locks) => locks.deleteOne({ _id: row }));
  }

  /**
   * One step of the upkeep of the marks: those that were there ten minutes ago are deleted, when no waiter can still hold
   * the name of that turn. Answers whether there may be more.
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
  new SvcError('unavailable', 'the document is being written by too many others', {
    retryAfterMs: 1_000,
    store: 'documents',
  });
