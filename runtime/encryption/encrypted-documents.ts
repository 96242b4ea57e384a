import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { PAYLOAD_LIMIT_BYTES } from '../blobs.ts';
import { isQueryField } from '../documents/document-query.ts';
import type { Collection, CollectionSpec, Documents, Find, Query, StoredDocument } from '../documents.ts';
import { SvcError } from '../errors.ts';
import type { TextCipher } from './text-cipher.ts';

const KEYS = ['tenant', 'id', 'version'];

/** Field with the other fields of an encrypted document. */
const TEXT = 'encrypted';

/**
 * The same for a large document, which is compressed first, since encrypted text is a third longer and a store's documents are
 * bounded.
 */
const PACKED = 'encrypted_packed';

const PACK_FROM_CHARS = 65_536;

const MOST_UNPACKED_BYTES = 4 * PAYLOAD_LIMIT_BYTES;

const pack = promisify(deflateRaw);

const unpack = promisify(inflateRaw);

/** The fields by which documents of a collection are found, besides those of its indexes. */
export type SearchFields = (collection: string) => readonly string[];

/** The fields of a collection that stay in plain text: those that its queries name. */
export const plainFields = ({
  unique,
  indexes,
  beside = [],
  counted = [],
  searched = [],
}: CollectionSpec): readonly string[] => [
  ...new Set([...unique.flat(), ...indexes.flat(), ...beside, ...counted, ...searched]),
];

/**
 * Documents whose fields are encrypted, except those that queries name: a collection's keys, its indexes and `searchFields`. A
 * query by another field would silently find nothing, so it is refused.
 */
export class EncryptedDocuments implements Documents {
  readonly #inner: Documents;
  readonly #cipher: TextCipher;
  readonly #searchFields: SearchFields;

  constructor(inner: Documents, cipher: TextCipher, searchFields: SearchFields) {
    this.#inner = inner;
    this.#cipher = cipher;
    this.#searchFields = searchFields;
  }

  open = () => this.#inner.open();
  close = () => this.#inner.close();

  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    if (!this.#cipher.mayRead) return this.#inner.collection<T>(spec);
    const plain = new Set([...KEYS, ...plainFields(spec), ...this.#searchFields(spec.name)]);
    const inner = await this.#inner.collection<StoredDocument>(spec);
    return new EncryptedCollection<T>(inner, this.#cipher, spec.name, plain);
  }
}

class EncryptedCollection<T extends StoredDocument> implements Collection<T> {
  readonly #inner: Collection<StoredDocument>;
  readonly #cipher: TextCipher;
  readonly #name: string;
  readonly #plain: ReadonlySet<string>;

  constructor(inner: Collection<StoredDocument>, cipher: TextCipher, name: string, plain: ReadonlySet<string>) {
    this.#inner = inner;
    this.#cipher = cipher;
    this.#name = name;
    this.#plain = plain;
  }

  insert = async (doc: T) => this.#inner.insert(await this.#encrypted(doc));
  put = async (doc: T) => this.#inner.put(await this.#encrypted(doc));
  putMany = async (docs: readonly T[]) =>
    this.#inner.putMany(await Promise.all(docs.map((doc) => this.#encrypted(doc))));
  replace = async (doc: T, expected: number) => this.#inner.replace(await this.#encrypted(doc), expected);
  delete = (tenant: string, id: string) => this.#inner.delete(tenant, id);
  deleteVersion = (tenant: string, id: string, expected: number) => this.#inner.deleteVersion(tenant, id, expected);
  tenants = () => this.#inner.tenants();

  async get(tenant: string, id: string): Promise<T | null> {
    const found = await this.#inner.get(tenant, id);
    return found && this.#decrypted(found);
  }

  async find(find: Find): Promise<T[]> {
    this.#check(
      find,
      find.sort?.map(([field]) => field),
    );
    const found = await this.#inner.find(find);
    return Promise.all(found.map((doc) => this.#decrypted(doc)));
  }

  findStored = async (find: Find) => {
    this.#check(
      find,
      find.sort?.map(([field]) => field),
    );
    return this.#inner.findStored(find);
  };

  count = async (query: Query) => {
    this.#check(query);
    return this.#inner.count(query);
  };

  deleteMany = async (query: Query) => {
    this.#check(query);
    return this.#inner.deleteMany(query);
  };

  total = async (query: Query, field: string) => {
    this.#check(query, [field]);
    return this.#inner.total(query, field);
  };

  #check({ where = {} }: Query, fields: readonly string[] = []): void {
    for (const field of [...Object.keys(where), ...fields]) {
      // The adapter refuses names that no field can have.
      if (this.#plain.has(field) || !isQueryField(field)) continue;
      const cause = new Error(
        `${this.#name}.${field} is encrypted: name it in the collection's indexes or search fields`,
      );
      throw new SvcError('internal', undefined, { cause });
    }
  }

  #use({ tenant, id }: StoredDocument): string {
    return `document ${this.#name} ${tenant} ${id}`;
  }

  async #encrypted(doc: T): Promise<StoredDocument> {
    const { tenant, id, version } = doc;
    if (!this.#cipher.encrypts(tenant)) return doc;
    const shown: [string, unknown][] = [];
    const hidden: [string, unknown][] = [];
    for (const field of Object.entries(doc)) (this.#plain.has(field[0]) ? shown : hidden).push(field);
    if (hidden.length === 0) return doc;
    await this.#cipher.toWrite([tenant]);
    const text = JSON.stringify(Object.fromEntries(hidden));
    const field =
      text.length < PACK_FROM_CHARS
        ? { [TEXT]: this.#cipher.encrypt(tenant, text, this.#use(doc)) }
        : { [PACKED]: this.#cipher.encryptBytesAsText(tenant, await pack(text, { level: 1 }), this.#use(doc)) };
    return { ...Object.fromEntries(shown), tenant, id, version, ...field };
  }

  async #decrypted(doc: StoredDocument): Promise<T> {
    const { [TEXT]: text, [PACKED]: packed, ...shown }: StoredDocument & { [TEXT]?: unknown; [PACKED]?: unknown } = doc;
    if (typeof text !== 'string' && typeof packed !== 'string') return whole<T>(doc, '{}');
    if (typeof text === 'string') {
      await this.#cipher.toRead([text]);
      return whole<T>(shown, this.#cipher.decrypt(text, this.#use(doc)));
    }
    const sealed = String(packed);
    await this.#cipher.toRead([sealed]);
    const bytes = this.#cipher.decryptBytesOfText(sealed, this.#use(doc));
    return whole<T>(shown, (await unpack(bytes, { maxOutputLength: MOST_UNPACKED_BYTES })).toString('utf8'));
  }
}

/** A document from its plain fields and the JSON of the others, which was encoded from a document. */
const whole = <T extends StoredDocument>(shown: object, hidden: string): T => Object.assign(shown, JSON.parse(hidden));
