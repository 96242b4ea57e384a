/**
 * Stores collections of JSON documents in SQLite or MongoDB, for lists, searches, histories and the catalog (R2). Each
 * document is written atomically; there are no transactions over several. Every read names the tenant.
 * Implemented by `SqliteDocuments` (sqlite/documents.ts) and `MongoDocuments` (mongo/documents.ts).
 */
export interface Documents {
  open(): Promise<void>;
  close(): Promise<void>;
  /** Opens a collection. Its missing indexes are created before its first read or write. */
  collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>>;
}

export interface CollectionSpec {
  /** lower_snake_case. */
  readonly name: string;
  /** Tuples of fields that must be unique inside a tenant. */
  readonly unique: readonly (readonly string[])[];
  /** Tuples of fields to index. The tenant is always the first field and is not listed. */
  readonly indexes: readonly (readonly string[])[];
  /**
   * Fields that few documents have and by which lists exclude those documents. Every index holds these fields behind
   * its order, so that excluded documents are not read.
   */
  readonly beside?: readonly string[];
  /**
   * Fields with few values whose counts are maintained where writes are transactions (SQLite). A count that filters by
   * these fields alone, by equality or `in`, then costs the same for any number of documents. Other stores count an
   * index.
   */
  readonly counted?: readonly string[];
  /** Fields that queries name and no index has. A field that no query names may be stored encrypted. */
  readonly searched?: readonly string[];
}

/**
 * A document, found by (tenant, id). `version` orders its writes: a projector's put with a lower version is ignored.
 */
export interface StoredDocument {
  readonly tenant: string;
  readonly id: string;
  readonly version: number;
}

/**
 * Version of the document of an actor that is being removed. It is above every revision, so that nothing lists it
 * again.
 */
export const REMOVED_VERSION = Number.MAX_SAFE_INTEGER;

export type Scalar = string | number | boolean | null;
export type Condition =
  | Scalar
  | { readonly in: readonly Scalar[] }
  | {
      readonly gt?: number | string;
      readonly gte?: number | string;
      readonly lt?: number | string;
      readonly lte?: number | string;
    };

export interface Query {
  /** `null` only for the node's own upkeep (sweeps, projections), never on behalf of a caller. */
  readonly tenant: string | null;
  /** Conditions on top-level fields. All must hold. */
  readonly where?: Readonly<Record<string, Condition>>;
}

export interface Find extends Query {
  readonly sort?: readonly (readonly [field: string, order: 'asc' | 'desc'])[];
  /** At most 1,000. */
  readonly limit: number;
  /** Costs as much as the documents that it skips. Use `after` for deep pages. */
  readonly skip?: number;
  /**
   * Return only documents behind this position of the order. The cost does not depend on the position. Not together
   * with `skip`.
   */
  readonly after?: Position;
}

/**
 * A position in an order: the values of the order's fields, then the id. `positionOf` (documents/document-query.ts)
 * builds it.
 */
export type Position = readonly Scalar[];

/** Key and version of a document, which identify one stored state of it. */
export type Stored = Pick<StoredDocument, 'tenant' | 'id' | 'version'>;

export interface Collection<T extends StoredDocument> {
  /** Inserts a new document. False when the id or a unique tuple exists. */
  insert(doc: T): Promise<boolean>;
  /** Inserts or replaces a document, unless the stored version is the same or newer. Returns whether it was written. */
  put(doc: T): Promise<boolean>;
  /** Makes many puts in one round trip, each by the rule of `put`. Puts of the same id keep their order. */
  putMany(docs: readonly T[]): Promise<void>;
  /** Compare and set: replaces a document only when its version is `expected`. */
  replace(doc: T, expected: number): Promise<boolean>;
  get(tenant: string, id: string): Promise<T | null>;
  find(find: Find): Promise<T[]>;
  /** Returns only key and version of the documents, for readers that keep what they have read. */
  findStored(find: Find): Promise<Stored[]>;
  count(query: Query): Promise<number>;
  delete(tenant: string, id: string): Promise<boolean>;
  /**
   * Compare and delete: removes a document only when its version is `expected`, so that a new one under the same id
   * stays.
   */
  deleteVersion(tenant: string, id: string, expected: number): Promise<boolean>;
  deleteMany(query: Query): Promise<number>;
  /** Returns the sum of a field's numbers. Values that are not numbers add nothing. */
  total(query: Query, field: string): Promise<number>;
  /** Returns the tenants that have a document here, for the node's own upkeep. */
  tenants(): Promise<string[]>;
}
