import type { DatabaseSync } from 'node:sqlite';
import type { Address, Partition } from '../address.ts';
import { partitionNamed } from './actor-store-loading.ts';
import { text } from './columns.ts';

/** Where actors live that are not at home (design K1). */
export class DirectoryTable {
  readonly #insert;
  readonly #find;
  readonly #delete;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      'INSERT INTO directory (home, address, partition) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#find = database.prepare('SELECT partition FROM directory WHERE home = ? AND address = ?');
    this.#delete = database.prepare('DELETE FROM directory WHERE home = ? AND address = ?');
  }

  place(home: Partition, address: Address, partition: Partition): Partition {
    this.#insert.run(home, address, partition);
    return this.locate(home, address) ?? partition;
  }

  locate(home: Partition, address: Address): Partition | null {
    const row = this.#find.get(home, address);
    return row === undefined ? null : partitionNamed(text(row, 'partition'));
  }

  unplace(home: Partition, address: Address): void {
    this.#delete.run(home, address);
  }
}
