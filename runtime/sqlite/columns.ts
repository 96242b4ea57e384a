import type { SQLOutputValue } from 'node:sqlite';
import { SvcError } from '../errors.ts';

export type Row = Record<string, SQLOutputValue>;

const wrong = (name: string, expected: string) =>
  new SvcError('internal', undefined, { cause: new Error(`column ${name} of the data file is not ${expected}`) });

/** An INTEGER column. */
export function integer(row: Row, name: string): number {
  const value = row[name];
  if (typeof value !== 'number') throw wrong(name, 'an integer');
  return value;
}

/** An INTEGER column that holds a position of the journal, which may be a fraction (journal-position.ts). */
export const position = integer;

/** A TEXT column. */
export function text(row: Row, name: string): string {
  const value = row[name];
  if (typeof value !== 'string') throw wrong(name, 'text');
  return value;
}

export function integerOrNull(row: Row, name: string): number | null {
  return row[name] === null ? null : integer(row, name);
}

export function textOrNull(row: Row, name: string): string | null {
  return row[name] === null ? null : text(row, name);
}
