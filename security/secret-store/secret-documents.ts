import { randomUUID } from 'node:crypto';
import { type Page, type PageAsked, pageOf } from '../../runtime/documents/pages.ts';
import type { Collection, CollectionSpec, Documents, Query, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { SecretView } from '../api.ts';
import type { KeyRing } from '../encryption/key-ring.ts';
import { seal, unseal } from '../encryption/sealed.ts';
import { MOST_EARLIER } from './secret-rules.ts';

/** A version of a secret, and the document that holds its value. */
interface StoredVersion {
  readonly version: number;
  readonly value_id: string;
}

/**
 * A secret; the id is its path. The data key encrypts the values of all its versions, and is itself wrapped by a key version. So a
 * new key version rewrites only this document.
 */
export interface SecretDocument extends StoredDocument {
  readonly key_version: number;
  readonly data_key: string;
  readonly current: StoredVersion;
  /** Newest first. */
  readonly earlier: readonly StoredVersion[];
  /** Null for a secret that was a file created by hand. */
  readonly created_at: string | null;
  readonly updated_at: string;
  readonly updated_by: string | null;
}

const SECRETS: CollectionSpec = { name: 'secrets', unique: [], indexes: [['key_version']] };

/** The encrypted value of one version, under a random id. It counts once a secret refers to it. */
interface ValueDocument extends StoredDocument {
  readonly path: string;
  readonly sealed: string;
  /** Unix ms. */
  readonly at: number;
}

const VALUES: CollectionSpec = { name: 'secret_values', unique: [], indexes: [['path']] };

/** Values without a secret are leftovers of processes that were killed after this time: no write takes longer. */
const WRITTEN_WITHIN_MS = 60_000;

const MOST_SWEPT = 100;

/**
 * Values are found by tenant, then path. A value can be decrypted only as the version and path of the tenant that it was
 * written for.
 */
const contextOf = (tenant: string, path: string, version: number): (string | number)[] => [
  'svc-secret',
  tenant,
  path,
  version,
];

export interface VersionText {
  readonly version: number;
  readonly text: string;
}

/** A change of a secret: times are ISO 8601. */
interface SecretChange {
  readonly created_at: string | null;
  readonly updated_at: string;
  readonly updated_by: string | null;
}

/** The encrypted documents of secrets. A change is one compare-and-set of the document of the secret. */
export class SecretDocuments {
  readonly #secrets: Collection<SecretDocument>;
  readonly #values: Collection<ValueDocument>;
  readonly #now: () => number;

  private constructor(secrets: Collection<SecretDocument>, values: Collection<ValueDocument>, now: () => number) {
    this.#secrets = secrets;
    this.#values = values;
    this.#now = now;
  }

  static async open(documents: Documents, now: () => number): Promise<SecretDocuments> {
    const secrets = await documents.collection<SecretDocument>(SECRETS);
    return new SecretDocuments(secrets, await documents.collection<ValueDocument>(VALUES), now);
  }

  get(tenant: string, path: string): Promise<SecretDocument | null> {
    return this.#secrets.get(tenant, path);
  }

  /** Sorted by path. */
  list(tenant: string, prefix: string, page: PageAsked): Promise<Page<SecretDocument>> {
    const where: Query['where'] = prefix === '' ? {} : { id: { gte: prefix, lt: `${prefix}\u{10ffff}` } };
    return pageOf(this.#secrets, 'secrets', { tenant, where, sort: [['id', 'asc']] }, page);
  }

  count(tenant: string): Promise<number> {
    return this.#secrets.count({ tenant });
  }

  /** Number of secrets of all tenants with a data key of this key version. */
  usesOf(keyVersion: number): Promise<number> {
    return this.#secrets.count({ tenant: null, where: { key_version: keyVersion } });
  }

  /** Some secrets of all tenants whose data key is of an older key version. */
  wrappedBefore(keyVersion: number, limit: number): Promise<SecretDocument[]> {
    return this.#secrets.find({ tenant: null, where: { key_version: { lt: keyVersion } }, limit });
  }

  /**
   * The value of a version; undefined: the current one. Null when there is none. Throws `failed_precondition` for a value that was
   * changed in the store, or moved there from another place.
   */
  async read(ring: KeyRing, tenant: string, path: string, version: number | undefined): Promise<string | null> {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const secret = await this.#secrets.get(tenant, path);
      if (secret === null) return null;
      const wanted = version ?? secret.current.version;
      const found = [secret.current, ...secret.earlier].find((one) => one.version === wanted);
      if (found === undefined) return null;
      const value = await this.#values.get(tenant, found.value_id);
      // It was replaced between both reads.
      if (value === null) continue;
      const key = await ring.unwrap(secret.key_version, secret.data_key);
      const text = unseal(key, value.sealed, contextOf(tenant, path, wanted));
      if (text === null) throw new SvcError('failed_precondition', 'the stored value is damaged or of another secret');
      return text.toString('utf8');
    }
    throw new SvcError('failed_precondition', 'the stored value is missing');
  }

  /**
   * Writes a new version, or a whole secret for `known` null: the last of `texts` becomes the current one. False when another call
   * changed the secret meanwhile; nothing is stored then.
   */
  async write(
    ring: KeyRing,
    at: { readonly tenant: string; readonly path: string; readonly known: SecretDocument | null },
    texts: readonly VersionText[],
    change: SecretChange,
  ): Promise<SecretDocument | null> {
    const { tenant, path, known } = at;
    const data = known === null ? await ring.newDataKey() : await keyOf(ring, known);
    const written = await this.#writeValues(data.key, tenant, path, texts);
    const [current, ...older] = written.reverse();
    if (current === undefined) throw new SvcError('internal', 'a secret needs a value');
    const kept = [...older, ...(known === null ? [] : [known.current, ...known.earlier])];
    const secret: SecretDocument = {
      tenant,
      id: path,
      // A secret that is created again after a deletion must not get the document version of the earlier one.
      version: known === null ? Math.max(1, this.#now()) : known.version + 1,
      key_version: data.version,
      data_key: data.wrapped,
      current,
      earlier: kept.slice(0, MOST_EARLIER),
      ...change,
    };
    const isWritten =
      known === null ? await this.#secrets.insert(secret) : await this.#secrets.replace(secret, known.version);
    if (!isWritten) {
      for (const { value_id } of written) await this.#values.delete(tenant, value_id);
      return null;
    }
    await this.#sweep(secret, kept.slice(MOST_EARLIER));
    return secret;
  }

  /** Wraps the data key with another key version. False when the secret was changed meanwhile. */
  async rewrap(ring: KeyRing, secret: SecretDocument, keyVersion: number): Promise<boolean> {
    const { key } = await keyOf(ring, secret);
    const data_key = await ring.wrap(keyVersion, key);
    const next = { ...secret, version: secret.version + 1, key_version: keyVersion, data_key };
    return this.#secrets.replace(next, secret.version);
  }

  /** Deletes the secret, or one earlier version. False when another call changed it meanwhile. */
  async remove(secret: SecretDocument, version?: number): Promise<boolean> {
    const { tenant, id } = secret;
    const removed = [secret.current, ...secret.earlier].filter(
      (one) => version === undefined || one.version === version,
    );
    const earlier = secret.earlier.filter((one) => one.version !== version);
    const isRemoved =
      version === undefined
        ? await this.#secrets.deleteVersion(tenant, id, secret.version)
        : await this.#secrets.replace({ ...secret, version: secret.version + 1, earlier }, secret.version);
    if (!isRemoved) return false;
    for (const { value_id } of removed) await this.#values.delete(tenant, value_id);
    return true;
  }

  async #writeValues(
    key: Uint8Array,
    tenant: string,
    path: string,
    texts: readonly VersionText[],
  ): Promise<StoredVersion[]> {
    const written: StoredVersion[] = [];
    for (const { version, text } of texts) {
      const value_id = randomUUID();
      const sealed = seal(key, Buffer.from(text), contextOf(tenant, path, version));
      await this.#values.insert({ tenant, id: value_id, version: 1, path, sealed, at: this.#now() });
      written.push({ version, value_id });
    }
    return written;
  }

  /** Deletes values that the secret no longer refers to, and those that killed processes left at its path. */
  async #sweep(secret: SecretDocument, dropped: readonly StoredVersion[]): Promise<void> {
    const { tenant, id: path } = secret;
    for (const { value_id } of dropped) await this.#values.delete(tenant, value_id);
    const used = new Set([secret.current, ...secret.earlier].map(({ value_id }) => value_id));
    for (const { id, at } of await this.#values.find({ tenant, where: { path }, limit: MOST_SWEPT })) {
      if (!used.has(id) && this.#now() - at > WRITTEN_WITHIN_MS) await this.#values.delete(tenant, id);
    }
  }
}

const keyOf = async (ring: KeyRing, { key_version: version, data_key: wrapped }: SecretDocument) => ({
  version,
  wrapped,
  key: await ring.unwrap(version, wrapped),
});

export const secretView = (secret: SecretDocument): SecretView => ({
  path: secret.id,
  reference: `secret:${secret.id}`,
  version: secret.current.version,
  earlier: secret.earlier.map(({ version }) => ({ version, reference: `secret:${secret.id}@${version}` })),
  created_at: secret.created_at,
  updated_at: secret.updated_at,
  updated_by: secret.updated_by,
});
