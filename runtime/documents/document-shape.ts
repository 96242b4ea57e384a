import type { Scalar, StoredDocument } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { isQueryField, isScalar } from './document-query.ts';

/**
 * How a document is laid out in a store. Its scalars with plain names can be searched and sorted, so they are kept as
 * `fields`; all else (objects, lists, names such as `$ref`) is kept as JSON text, which no store interprets. Both
 * adapters share this split, therefore they answer alike: to a query, what is not a scalar is null.
 */
export interface StoredShape {
  readonly tenant: string;
  readonly id: string;
  readonly version: number;
  /** Searchable scalars without tenant, id and version. */
  readonly fields: Readonly<Record<string, Scalar>>;
  /** JSON object of the others. */
  readonly restJson: string;
}

const TENANT = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/;
const ID_LIMIT = 512;
/** Below MongoDB's 16 MiB a document, with room for its own encoding. */
const DOCUMENT_LIMIT_BYTES = 15 * 1024 * 1024;

/** Throws `invalid_argument` for a tenant or id that could not be told apart from another one in a key. */
export function checkKey(tenant: string, id: string): void {
  if (typeof tenant !== 'string' || !TENANT.test(tenant)) {
    throw new SvcError('invalid_argument', `tenant must match ${TENANT.source}`, { field: 'tenant' });
  }
  const fits = typeof id === 'string' && id.length > 0 && id.length <= ID_LIMIT && id.isWellFormed();
  if (!fits || id.includes('\0')) {
    throw new SvcError('invalid_argument', `id must be text of 1 to ${ID_LIMIT} characters`, { field: 'id' });
  }
}

/** JSON has no -0 and UTF-8 no lone surrogate. */
function plain(value: Scalar): Scalar {
  if (typeof value === 'string') return value.toWellFormed();
  return value === 0 ? 0 : value;
}

/** Takes a document apart; throws `invalid_argument` or `payload_too_large`. */
export function shapeOf(doc: StoredDocument): StoredShape {
  checkKey(doc.tenant, doc.id);
  if (!Number.isSafeInteger(doc.version) || doc.version < 0) {
    throw new SvcError('invalid_argument', 'version must be a whole number, 0 or more', { field: 'version' });
  }
  const fields: Record<string, Scalar> = {};
  const rest: [string, unknown][] = [];
  for (const [name, value] of Object.entries(doc)) {
    if (name === 'tenant' || name === 'id' || name === 'version' || value === undefined) continue;
    if (isQueryField(name) && isScalar(value)) fields[name] = plain(value);
    else rest.push([name, value]);
  }
  const restJson = JSON.stringify(Object.fromEntries(rest));
  const bytes = Buffer.byteLength(restJson) + Buffer.byteLength(JSON.stringify(fields));
  if (bytes > DOCUMENT_LIMIT_BYTES) {
    throw new SvcError('payload_too_large', `a document holds at most ${DOCUMENT_LIMIT_BYTES} bytes of JSON`);
  }
  return { tenant: doc.tenant, id: doc.id, version: doc.version, fields, restJson };
}

/** Puts a document together again. The caller's type is what it stored: a collection has one writer type. */
export function documentOf<T extends StoredDocument>(shape: StoredShape): T {
  const rest = JSON.parse(shape.restJson);
  return { tenant: shape.tenant, id: shape.id, version: shape.version, ...shape.fields, ...rest };
}
