import { OneAtATimePerKey } from '../one-at-a-time.ts';
import { isDuplicate } from './failures.ts';
import type { Row } from './row.ts';
import type { Rows } from './session.ts';
import type { SharedTurns } from './shared-turns.ts';
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
  readonly #shared: SharedTurns;

  constructor(rows: Rows, shared: SharedTurns) {
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
