import type { DatabaseSync } from 'node:sqlite';
import { type Address, addressOf, type Partition, parseAddress } from '../address.ts';
import { partitionNamed } from './actor-store-loading.ts';
import { text } from './columns.ts';

const PAGE = 250;

interface PlacedPage {
  readonly entries: { readonly address: Address; readonly partition: Partition }[];
  readonly next: string | null;
}

/** Where actors live that are not at home (design K1). */
export class DirectoryTable {
  readonly #insert;
  readonly #find;
  readonly #delete;
  readonly #page;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      'INSERT INTO directory (home, address, partition) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#find = database.prepare('SELECT partition FROM directory WHERE home = ? AND address = ?');
    this.#delete = database.prepare('DELETE FROM directory WHERE home = ? AND address = ? AND partition = ?');
    this.#page = database.prepare(
      'SELECT address, partition FROM directory WHERE home = ? AND address > ? ORDER BY address LIMIT ?',
    );
  }

  place(home: Partition, address: Address, partition: Partition): Partition {
    this.#insert.run(home, address, partition);
    return this.locate(home, address) ?? partition;
  }

  locate(home: Partition, address: Address): Partition | null {
    const row = this.#find.get(home, address);
    return row === undefined ? null : partitionNamed(text(row, 'partition'));
  }

  unplace(home: Partition, address: Address, partition: Partition): boolean {
    return this.#delete.run(home, address, partition).changes > 0;
  }

  /** A page begins behind the last address of the one before. */
  placed(home: Partition, page: string | null): PlacedPage {
    const entries = this.#page.all(home, page ?? '', PAGE).map((row) => {
      const { kind, tenant, id } = parseAddress(text(row, 'address'));
      return { address: addressOf(kind, tenant, id), partition: partitionNamed(text(row, 'partition')) };
    });
    return { entries, next: entries.length < PAGE ? null : (entries.at(-1)?.address ?? null) };
  }
}
