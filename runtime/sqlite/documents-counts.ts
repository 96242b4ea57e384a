import { comparisons } from '../documents/document-query.ts';
import type { CollectionSpec, Query, Scalar } from '../documents.ts';
import { type Sql, tableOf } from './documents-sql.ts';

/** JSON text of a field, which keeps types apart; what is missing is null. */
const textOf = (row: 'new' | 'old' | '', field: string): string =>
  `ifnull(${row === '' ? '' : `${row}.`}fields -> '$.${field}', 'null')`;
const boundText = (value: Scalar): string => JSON.stringify(typeof value === 'string' ? value.toWellFormed() : value);

const countsTable = (spec: CollectionSpec, counted: readonly string[]): string =>
  `cnt_${spec.name}__${counted.join('__')}`;

/** Name of the table that keeps a collection's counts ready; undefined when none are wanted. */
export const countsOf = (spec: CollectionSpec): string | undefined =>
  spec.counted === undefined ? undefined : countsTable(spec, spec.counted);

/**
 * The table of a collection's counts, one row for each combination of its counted fields, kept by triggers in the
 * transaction of each write; filled here from what is stored already. Run when the table is missing: at the first start,
 * and at the next one after somebody dropped it to have all counted again.
 */
export function countsSchemaOf(spec: CollectionSpec): string[] {
  const { counted } = spec;
  if (counted === undefined) return [];
  const [table, counts] = [tableOf(spec.name), countsTable(spec, counted)];
  const columns = counted.map((field) => `of_${field}`);
  const key = ['tenant', ...columns];
  const keyOf = (row: 'new' | 'old') => [`${row}.tenant`, ...counted.map((field) => textOf(row, field))].join(', ');
  const at = (row: 'new' | 'old') => `(${key.join(', ')}) = (${keyOf(row)})`;
  const more = `INSERT INTO ${counts} VALUES (${keyOf('new')}, 1)
     ON CONFLICT (${key.join(', ')}) DO UPDATE SET n = n + 1;`;
  const less = `UPDATE ${counts} SET n = n - 1 WHERE ${at('old')}; DELETE FROM ${counts} WHERE ${at('old')} AND n = 0;`;
  const trigger = (when: string, steps: string) => `CREATE TRIGGER ${counts}__${when} BEGIN ${steps} END`;
  // Of a table that was dropped: they belong to the documents' table.
  const left = ['added', 'removed', 'changed'].map((when) => `DROP TRIGGER IF EXISTS ${counts}__${when}`);
  return [
    ...left,
    `CREATE TABLE ${counts} (${key.map((column) => `${column} TEXT NOT NULL`).join(', ')}, n INTEGER NOT NULL,
       PRIMARY KEY (${key.join(', ')})) WITHOUT ROWID`,
    `INSERT INTO ${counts} SELECT tenant, ${counted.map((field) => textOf('', field)).join(', ')}, count(*) FROM ${table}
       GROUP BY ${key.map((_, at) => at + 1).join(', ')}`,
    trigger(`added AFTER INSERT ON ${table}`, more),
    trigger(`removed AFTER DELETE ON ${table}`, less),
    trigger(`changed AFTER UPDATE ON ${table} WHEN (${keyOf('old')}) IS NOT (${keyOf('new')})`, `${less} ${more}`),
  ];
}

/** The count from that table; undefined when the query asks for more than it knows. */
export function readyCountOf(spec: CollectionSpec, query: Query): Sql | undefined {
  const { counted } = spec;
  if (counted === undefined) return undefined;
  const text = [`SELECT sum(n) AS n FROM ${countsTable(spec, counted)} WHERE 1`];
  const values: string[] = [];
  if (query.tenant !== null) {
    text.push('tenant = ?');
    values.push(query.tenant);
  }
  for (const comparison of comparisons(query)) {
    if (comparison.kind === 'range' || !counted.includes(comparison.field)) return undefined;
    const wanted = comparison.kind === 'in' ? comparison.values : [comparison.value];
    text.push(`of_${comparison.field} IN (${wanted.map(() => '?').join(', ')})`);
    values.push(...wanted.map(boundText));
  }
  return { text: text.join(' AND '), values };
}
