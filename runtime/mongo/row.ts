import { isQueryField } from '../documents/document-query.ts';
import { documentOf, shapeOf } from '../documents/document-shape.ts';
import type { CollectionSpec, Scalar, StoredDocument } from '../documents.ts';

/**
 * A document as MongoDB holds it: its scalars under their own names, so that they can be looked at with any tool, and
 * the rest as JSON text (keys such as `$ref` and lists in lists are no matter then). Names with a capital are ours:
 * no field of a document that can be queried has one.
 */
export type Row = {
  _id: string;
  tenant: string;
  id: string;
  version: number;
  restJson: string;
  [name: string]: Scalar;
};

export const keyOf = (tenant: string, id: string): string => `${tenant}/${id}`;

export const uniqueField = (tuple: readonly string[]): string => `Unique_${tuple.join('_')}`;

/**
 * A unique tuple is one string under a unique index, since MongoDB would take two missing fields for equal. With a null
 * part the tuple is not bound to be unique: then the document's own key stands in.
 */
function uniqueValue(row: Row, tuple: readonly string[]): string {
  const parts = tuple.map((field) => row[field] ?? null);
  return parts.includes(null) ? `id:${row.id}` : JSON.stringify(parts);
}

export function rowOf(doc: StoredDocument, spec: CollectionSpec): Row {
  const { tenant, id, version, fields, restJson } = shapeOf(doc);
  const row: Row = { ...fields, _id: keyOf(tenant, id), tenant, id, version, restJson };
  for (const tuple of spec.unique) row[uniqueField(tuple)] = uniqueValue(row, tuple);
  return row;
}

export function documentOfRow<T extends StoredDocument>(row: Row): T {
  const { tenant, id, version, restJson } = row;
  const fields = Object.fromEntries(Object.entries(row).filter(([name]) => isQueryField(name)));
  return documentOf({ tenant, id, version, fields, restJson });
}
