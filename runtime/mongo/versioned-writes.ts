import { MongoBulkWriteError } from 'mongodb';
import { SvcError } from '../errors.ts';
import { isDuplicate } from './failures.ts';
import type { Row, Rows } from './session.ts';

/**
 * Writes that depend on the stored version. `buildInfo` decides which implementation a server needs; see documents.ts.
 * Implemented by `AtomicWrites` below and `SerialisedWrites` (serialised-writes.ts).
 */
export interface VersionedWrites {
  /** Writes when no version or an older one is stored. Throws `conflict` when another id holds a unique tuple. */
  put(row: Row): Promise<boolean>;
  /** Writes rows of distinct ids. */
  putMany(rows: readonly Row[]): Promise<void>;
  /** Replaces a row only when its version is `expected`. */
  replace(row: Row, expected: number): Promise<boolean>;
  /** Removes a row only when its version is `expected`. */
  remove(key: string, expected: number): Promise<boolean>;
}

const PUT_ATTEMPTS = 3;

export const conflict = (cause?: unknown): SvcError =>
  new SvcError('conflict', 'another document of this tenant holds the same unique fields', { cause });

export function storedVersion(rows: Rows, key: string): Promise<number | undefined> {
  return rows.ask((all) => all.findOne({ _id: key }, { projection: { version: 1 } })).then((row) => row?.version);
}

/** Positions of the rows that an unordered bulk write refused as duplicates. Throws any other failure. */
export function refusedPositions(error: unknown): number[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const errors = [error.writeErrors].flat();
  const others = errors.filter((one) => one.code !== 11_000 && !one.errmsg?.includes('UNIQUE constraint failed'));
  if (errors.length === 0 || others.length > 0) throw error;
  return errors.map((one) => one.index);
}

/** Writes for MongoDB: the condition is part of the write, which the server makes atomic. */
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
        // The upsert became an insert: an equal or newer version is stored, or an older one was just written, or a
        // tuple is taken.
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
      // Refused rows are written one by one. When the server stopped half-way, all rows are, because a put may be
      // repeated.
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
