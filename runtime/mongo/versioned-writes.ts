import { MongoBulkWriteError } from 'mongodb';
import { SvcError } from '../errors.ts';
import { isDuplicate } from './failures.ts';
import type { Row, Rows } from './session.ts';

/** Writes that depend on the stored version. Which one a server needs is told by `buildInfo`, see documents.ts. */
export interface VersionedWrites {
  /** Writes when nothing or something older is stored; throws `conflict` for a unique tuple held by another id. */
  put(row: Row): Promise<boolean>;
  /** Rows of distinct ids. */
  putMany(rows: readonly Row[]): Promise<void>;
  /** Writes only over exactly the version `expected`. */
  replace(row: Row, expected: number): Promise<boolean>;
  /** Removes only exactly the version `expected`. */
  remove(key: string, expected: number): Promise<boolean>;
}

const PUT_ATTEMPTS = 3;

export const conflict = (cause?: unknown): SvcError =>
  new SvcError('conflict', 'another document of this tenant holds the same unique fields', { cause });

export function storedVersion(rows: Rows, key: string): Promise<number | undefined> {
  return rows.ask((all) => all.findOne({ _id: key }, { projection: { version: 1 } })).then((row) => row?.version);
}

/** Positions of the rows that an unordered bulk refused as duplicates; any other failure is thrown. */
export function refusedPositions(error: unknown): number[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const errors = [error.writeErrors].flat();
  const others = errors.filter((one) => one.code !== 11_000 && !one.errmsg?.includes('UNIQUE constraint failed'));
  if (errors.length === 0 || others.length > 0) throw error;
  return errors.map((one) => one.index);
}

/** MongoDB: the condition is part of the write, which the server makes atomic. */
export class AtomicWrites implements VersionedWrites {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  async put(row: Row): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const older = { _id: row._id, version: { $lt: row.version } };
        const result = await this.#rows.ask((rows) => rows.replaceOne(older, row, { upsert: true }));
        return result.modifiedCount + result.upsertedCount > 0;
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        // The upsert became an insert: something as new is stored, or an older one just came, or a tuple is taken.
        const stored = await storedVersion(this.#rows, row._id);
        if (stored !== undefined && stored >= row.version) return false;
        if (attempt === PUT_ATTEMPTS) throw conflict(error);
      }
    }
  }

  async putMany(rows: readonly Row[]): Promise<void> {
    const operations = rows.map((row) => ({
      replaceOne: { filter: { _id: row._id, version: { $lt: row.version } }, replacement: row, upsert: true },
    }));
    try {
      await this.#rows.ask((rows) => rows.bulkWrite(operations, { ordered: false }));
    } catch (error) {
      const refused = new Set(refusedPositions(error));
      const written = error instanceof MongoBulkWriteError ? error.matchedCount + error.upsertedCount : 0;
      // What was refused goes the careful way; so do all (a put can be repeated) when the server stopped half-way.
      const isWhole = written + refused.size >= rows.length;
      for (const [position, row] of rows.entries()) if (!isWhole || refused.has(position)) await this.put(row);
    }
  }

  async replace(row: Row, expected: number): Promise<boolean> {
    try {
      const result = await this.#rows.ask((rows) => rows.replaceOne({ _id: row._id, version: expected }, row));
      return result.matchedCount === 1;
    } catch (error) {
      if (isDuplicate(error)) throw conflict(error);
      throw error;
    }
  }

  async remove(key: string, expected: number): Promise<boolean> {
    const result = await this.#rows.ask((rows) => rows.deleteOne({ _id: key, version: expected }));
    return result.deletedCount === 1;
  }
}
