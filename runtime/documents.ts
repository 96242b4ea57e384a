/**
 * Lists, searches, histories and the catalog (R2): collections of JSON documents, SQLite or MongoDB underneath.
 * Single-document writes only; no transaction is promised. Every read names the tenant.
 * Implemented by `SqliteDocuments` (sqlite/documents.ts) and `MongoDocuments` (mongo/documents.ts).
 */
export interface Documents {
  open(): Promise<void>;
  close(): Promise<void>;
  /** The collection with its indexes created when missing. */
  collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>>;
}

export interface CollectionSpec {
  /** lower_snake_case. */
  readonly name: string;
  /** Field tuples that are unique inside a tenant. */
  readonly unique: readonly (readonly string[])[];
  /** Field tuples to index, tenant first implied. */
  readonly indexes: readonly (readonly string[])[];
  /**
   * Fields that lists leave some documents out by, and that few documents have: every index holds them behind its order, so
   * that what is passed over is not read.
   */
  readonly beside?: readonly string[];
  /**
   * Fields with few values whose counts are kept ready where writes are transactions (SQLite): a count that asks for
   * nothing else, by equality or `in`, costs the same however many documents there are. Elsewhere an index is counted.
   */
  readonly counted?: readonly string[];
}

/** A document is found by (tenant, id). `version` orders its writes: a projector's put with a lower one is ignored. */
export interface StoredDocument {
  readonly tenant: string;
  readonly id: string;
  readonly version: number;
}

/** Of the document of an actor that is being removed: above every revision, so that nothing lists it again. */
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
  /** Top-level fields; all must hold. */
  readonly where?: Readonly<Record<string, Condition>>;
}

export interface Find extends Query {
  readonly sort?: readonly (readonly [field: string, order: 'asc' | 'desc'])[];
  /** At most 1,000. */
  readonly limit: number;
  /** Costs what it passes over; deep pages are asked for with `after`. */
  readonly skip?: number;
  /** Only what comes behind this position of the order, at the same cost however far behind; not beside `skip`. */
  readonly after?: Position;
}

/** A place in an order: the values of its fields, then the id. `positionOf` (documents/order.ts) makes it. */
export type Position = readonly Scalar[];

/** What tells the states of a document apart. */
export type Stored = Pick<StoredDocument, 'tenant' | 'id' | 'version'>;

export interface Collection<T extends StoredDocument> {
  /** False when the id or a unique tuple exists. */
  insert(doc: T): Promise<boolean>;
  /** Upsert, ignored when the stored version is the same or newer. Answers whether it was written. */
  put(doc: T): Promise<boolean>;
  /** Many puts in one round trip, same rule each; order inside the batch is kept per id. */
  putMany(docs: readonly T[]): Promise<void>;
  /** Compare and set: replaces only a document whose version is `expected`. */
  replace(doc: T, expected: number): Promise<boolean>;
  get(tenant: string, id: string): Promise<T | null>;
  find(find: Find): Promise<T[]>;
  /** The same documents by key and version alone, for readers that keep what they have read. */
  findStored(find: Find): Promise<Stored[]>;
  count(query: Query): Promise<number>;
  delete(tenant: string, id: string): Promise<boolean>;
  /** Compare and delete: removes only a document whose version is `expected`, never one that came back under its id. */
  deleteVersion(tenant: string, id: string, expected: number): Promise<boolean>;
  deleteMany(query: Query): Promise<number>;
  /** Sum of a field's numbers; what is no number counts nothing. */
  total(query: Query, field: string): Promise<number>;
  /** Tenants that have a document here, for the node's own upkeep. */
  tenants(): Promise<string[]>;
}
