import type { DatabaseSync } from 'node:sqlite';
import { text } from './columns.ts';

/** Facts about the store as a whole, by name. */
export class FactTable {
  readonly #all;
  readonly #keep;

  constructor(database: DatabaseSync) {
    this.#all = database.prepare('SELECT name, value FROM facts');
    this.#keep = database.prepare('INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)');
  }

  all(): ReadonlyMap<string, string> {
    return new Map(this.#all.all().map((row) => [text(row, 'name'), text(row, 'value')]));
  }

  keep(name: string, value: string): void {
    this.#keep.run(name, value);
  }
}
