import type { Command } from 'commander';
import { contextOf } from './context.ts';
import type { JsonObject } from './json.ts';
import { listed, type Query } from './list-pages.ts';
import type { Call } from './node-client.ts';
import { print } from './output.ts';

interface Listing {
  readonly path: string;
  /** Member of the answer that holds the entries. */
  readonly member: string;
  readonly query?: Query;
  readonly columns: readonly string[];
  /** Cells of an entry; default the entry itself. */
  readonly row?: (entry: JsonObject) => JsonObject;
}

/** Prints a list: a table for people, the entries as they came for machines. */
export async function printList(command: Command, { path, member, query = {}, columns, row }: Listing): Promise<void> {
  const { client, output } = contextOf(command);
  const entries = await listed(client, path, member, query);
  await print(output, { value: entries, rows: { items: row === undefined ? entries : entries.map(row), columns } });
}

/** Prints the answer of a GET, one line for each field. */
export async function printOne(command: Command, path: string): Promise<void> {
  const { client, output } = contextOf(command);
  await print(output, { value: await client.json('GET', path, { repeatable: true }) });
}

/** Sends a call that changes something and prints one line that says what it did. */
export async function printDone(
  command: Command,
  [method, path]: readonly [method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string],
  call: Call,
  done: string | ((answer: JsonObject) => string),
): Promise<void> {
  const { client, output } = contextOf(command);
  const answer = await client.json(method, path, call);
  await print(output, { value: answer, text: typeof done === 'string' ? done : done(answer) });
}
