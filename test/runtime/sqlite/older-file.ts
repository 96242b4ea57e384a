import type { DatabaseSync } from 'node:sqlite';
import { FORMAT } from '../../../runtime/store-formats.ts';

/** Gives a file of this format the tables and the version of format 6. Rows must be as format 6 writes them. */
export function toFormat6(database: DatabaseSync): void {
  database.exec('ALTER TABLE events DROP COLUMN lengths;');
  database.exec(`DELETE FROM facts WHERE name = 'format.${FORMAT}'; PRAGMA user_version = 6;`);
}
