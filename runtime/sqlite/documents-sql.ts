import type { SQLInputValue } from 'node:sqlite';
import {
  type Bound,
  type Comparison,
  checkField,
  comparisons,
  termsOf,
  WHOLE_KEY,
} from '../documents/document-query.ts';
import type { CollectionSpec, Find, Query, Scalar } from '../documents.ts';

/** Text of a statement and its bound values. Values are bound, except a limit; document-query.ts has checked it, and the names. */
export interface Sql {
  readonly text: string;
  readonly values: SQLInputValue[];
}

const COLUMNS = new Set(['tenant', 'id', 'version']);
const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** Columns that identify one stored state of a document, in this order. */
export const STORED_COLUMNS = 'tenant, id, version';
/** Columns of a whole document, in this order. */
export const DOCUMENT_COLUMNS = `${STORED_COLUMNS}, fields, rest`;

export const tableOf = (name: string): string => `doc_${name}`;

const expression = (field: string): string => (COLUMNS.has(field) ? field : `json_extract(fields, '$.${field}')`);

const typeExpression = (field: string): string => `json_type(fields, '$.${field}')`;

/**
 * Restricts a condition to values of its own type. SQLite would compare across types (true = 1, every text > every
 * number).
 */
function typeCheck(field: string, value: Scalar): string {
  if (COLUMNS.has(field)) {
    const text = field !== 'version';
    return text === (typeof value === 'string') && typeof value !== 'boolean' ? '' : ' AND 0';
  }
  const type = typeExpression(field);
  if (typeof value === 'string') return ` AND ${type} = 'text'`;
  if (typeof value === 'boolean') return ` AND ${type} = '${value}'`;
  return ` AND ${type} IN ('integer', 'real')`;
}

const bind = (value: string | number | boolean): SQLInputValue => (typeof value === 'boolean' ? Number(value) : value);

function compare(field: string, operator: string, value: Scalar): Sql {
  if (value === null) return { text: `${expression(field)} IS NULL`, values: [] };
  return { text: `(${expression(field)} ${operator} ?${typeCheck(field, value)})`, values: [bind(value)] };
}

/** One `IN` for strings and one for numbers, so that a long list stays a shallow expression. */
function anyOf(field: string, list: readonly Scalar[]): Sql {
  const parts: Sql[] = [];
  for (const type of ['string', 'number'] as const) {
    const ofType = list.filter((value) => typeof value === type);
    const [first] = ofType;
    if (first === undefined) continue;
    const marks = ofType.map(() => '?').join(', ');
    const text = `(${expression(field)} IN (${marks})${typeCheck(field, first)})`;
    parts.push({ text, values: ofType.filter((value) => value !== null).map(bind) });
  }
  for (const value of [true, false, null]) if (list.includes(value)) parts.push(compare(field, '=', value));
  if (parts.length === 0) return { text: '0', values: [] };
  return { text: `(${parts.map((part) => part.text).join(' OR ')})`, values: parts.flatMap((part) => part.values) };
}

function condition(comparison: Comparison): Sql {
  const { field } = comparison;
  if (comparison.kind === 'in') return anyOf(field, comparison.values);
  const operator = comparison.kind === 'equal' ? '=' : OPERATORS[comparison.operator];
  return compare(field, operator, comparison.value);
}

/** `WHERE …` of a query: the tenant first, the bounds of a range last. */
export function whereOf(query: Query, range: readonly Bound[] = []): Sql {
  const parts = [...comparisons(query).map(condition), ...range.map(bound)];
  if (query.tenant !== null) parts.unshift({ text: 'tenant = ?', values: [query.tenant] });
  if (parts.length === 0) return { text: '', values: [] };
  return {
    text: ` WHERE ${parts.map((part) => part.text).join(' AND ')}`,
    values: parts.flatMap((part) => part.values),
  };
}

const placeExpression = (field: string): string => (field === WHOLE_KEY ? "(tenant || '/' || id)" : expression(field));

/** Compares by SQLite's own order across types, which is the order of the rows. */
function bound(one: Bound): Sql {
  const place = placeExpression(one.field);
  if (one.kind === 'present') return { text: `${place} IS NOT NULL`, values: [] };
  if (one.value === null) return { text: `${place} IS NULL`, values: [] };
  const operator = one.kind === 'same' ? '=' : one.order === 'asc' ? '>' : '<';
  // The number is read from JSON text, as the stored one was, so that both have exactly the same value.
  if (typeof one.value === 'number' && !COLUMNS.has(one.field))
    return { text: `${place} ${operator} json_extract(?, '$')`, values: [JSON.stringify(one.value)] };
  return { text: `${place} ${operator} ?`, values: [bind(one.value)] };
}

export function selectOf(table: string, find: Find, range: readonly Bound[], columns: string): Sql {
  const where = whereOf(find, range);
  // SQLite does not see that an expression which is equal in all rows orders nothing, and would sort them.
  const equal = new Set(range.filter(({ kind }) => kind === 'same').map(({ field }) => field));
  const terms = termsOf(find).filter(([field]) => !equal.has(field));
  const order = terms.map(([field, direction]) => `${placeExpression(field)} ${direction}`);
  // A bound limit would be looked at by the planner, so that the first run prepares the statement again.
  return {
    text: `SELECT ${columns} FROM ${table}${where.text} ORDER BY ${order.join(', ')} LIMIT ${find.limit} OFFSET ?`,
    values: [...where.values, find.skip ?? 0],
  };
}

export function countOf(table: string, query: Query): Sql {
  const where = whereOf(query);
  return { text: `SELECT count(*) AS n FROM ${table}${where.text}`, values: where.values };
}

export function totalOf(table: string, query: Query, field: string): Sql {
  checkField(field, 'total');
  const where = whereOf(query);
  // SQLite takes booleans and digits in text for numbers; no other store does.
  const number = COLUMNS.has(field)
    ? `iif(typeof(${field}) = 'text', 0, ${field})`
    : `iif(${typeExpression(field)} IN ('integer', 'real'), ${expression(field)}, 0)`;
  return { text: `SELECT ifnull(sum(${number}), 0) AS n FROM ${table}${where.text}`, values: where.values };
}

/** Tenants of a table, with one index step for each tenant, however many documents it has. */
export const tenantsOf = (table: string): string => `WITH RECURSIVE tenants(tenant) AS (
    SELECT min(tenant) FROM ${table}
    UNION ALL SELECT (SELECT min(tenant) FROM ${table} WHERE tenant > tenants.tenant) FROM tenants
      WHERE tenants.tenant IS NOT NULL)
  SELECT tenant FROM tenants WHERE tenant IS NOT NULL`;

/** A statement of a collection's schema: it runs when the file has, or lacks, the object `name`. */
export interface SchemaStep extends Pick<Sql, 'text'> {
  readonly name: string;
  readonly when: 'missing' | 'present';
}

/**
 * Table and indexes of a collection, created when missing. A tuple with a null part need not be unique. Behind its
 * order an index holds the types that conditions test, so that counted or skipped rows are not read (a count of 100,000
 * takes 7 ms instead of 86). Indexes named `ix_` are the earlier ones without these types.
 */
export function schemaOf(spec: CollectionSpec): SchemaStep[] {
  const table = tableOf(spec.name);
  const nameOf = (prefix: string, tuple: readonly string[]) => `${prefix}_${spec.name}__${tuple.join('__')}`;
  const index = (kind: string, name: string, columns: readonly string[]): SchemaStep => ({
    name,
    when: 'missing',
    text: `CREATE ${kind} ${name} ON ${table} (${['tenant', ...columns].join(', ')})`,
  });
  const typed = (field: string) => (COLUMNS.has(field) ? [field] : [expression(field), typeExpression(field)]);
  const beside = (spec.beside ?? []).flatMap(typed);
  /** Other columns need another name. */
  const kind = ['ix2', ...(spec.beside ?? [])].join('_');
  const typesOf = (tuple: readonly string[]) => tuple.filter((field) => !COLUMNS.has(field)).map(typeExpression);
  const earlier = (name: string): SchemaStep => ({ name, when: 'present', text: `DROP INDEX ${name}` });
  return [
    {
      name: table,
      when: 'missing',
      text: `CREATE TABLE ${table} (
       tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, fields TEXT NOT NULL, rest TEXT NOT NULL,
       PRIMARY KEY (tenant, id))`,
    },
    ...spec.unique.map((tuple) => index('UNIQUE INDEX', nameOf('ux', tuple), tuple.map(expression))),
    ...spec.indexes.flatMap((tuple) => [
      earlier(nameOf('ix', tuple)),
      index('INDEX', nameOf(kind, tuple), [...tuple.map(expression), 'id', ...typesOf(tuple), ...beside]),
    ]),
  ];
}
