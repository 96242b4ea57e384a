import { randomBytes } from 'node:crypto';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { counted } from '../../runtime/kit/counted.ts';
import { DATA_KEY_BYTES, type KeySource } from './key-source.ts';

const RING_FORMAT = 1;

const MAX_ATTEMPTS = 16;

/** Plain text that each key version has wrapped, so that a start detects another key with the same number. */
const PROOF = Buffer.alloc(DATA_KEY_BYTES, 'svc');

/** The key versions that this store knows: one document for all nodes. */
interface RingDocument extends StoredDocument {
  readonly format: number;
  /** The version that wraps new data keys. */
  readonly current: number;
  readonly keys: readonly { readonly version: number; readonly proof: string; readonly made_at: string }[];
}

const RING = 'ring';

/** The newest version in the copy of a node; the id is that of the node. */
interface CopyDocument extends StoredDocument {
  readonly newest: number;
  /** Unix ms. */
  readonly at: number;
}

/** A node that has not reported its copy for this long counts as not running. */
const REPORTED_WITHIN_MS = 100_000;

const MOST_NODES = 1_000;

/** A data key, with its stored form. */
interface DataKey {
  readonly version: number;
  readonly wrapped: string;
  readonly key: Uint8Array;
}

interface KeyVersionView {
  readonly version: number;
  /** ISO 8601. */
  readonly made_at: string;
}

/** How many secrets and data keys of payloads a key version has wrapped. */
type CountUses = (version: number) => Promise<number>;

interface KeyRingParts {
  /** Id of this node. */
  readonly node: string;
  readonly documents: Documents;
  readonly source: KeySource;
  /** Whether this is the only node, so that a store without any secret may get another key. */
  readonly isAlone: boolean;
  readonly clock: Pick<Clock, 'now'>;
  readonly uses: CountUses;
  readonly warn: (message: string, error: unknown) => void;
}

/** The key versions in use by a store, and the data keys that they wrap. */
export class KeyRing {
  readonly #documents: Collection<RingDocument>;
  readonly #copies: Collection<CopyDocument>;
  readonly #node: string;
  readonly #source: KeySource;
  readonly #isAlone: boolean;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #uses: CountUses;

  private constructor(
    documents: Collection<RingDocument>,
    copies: Collection<CopyDocument>,
    parts: Omit<KeyRingParts, 'documents'>,
  ) {
    this.#documents = documents;
    this.#copies = copies;
    this.#node = parts.node;
    this.#source = parts.source;
    this.#isAlone = parts.isAlone;
    this.#clock = parts.clock;
    this.#uses = parts.uses;
  }

  /**
   * Checks that the source has every key version in use, and creates the first one for a store without any. Throws
   * `invalid_config` naming the key version. A source that does not answer is only a warning, so that its outage stops no node.
   */
  static async open(parts: KeyRingParts): Promise<KeyRing> {
    const { source, warn } = parts;
    const documents = await parts.documents.collection<RingDocument>({ name: 'secret_keys', unique: [], indexes: [] });
    const copies = await parts.documents.collection<CopyDocument>({
      name: 'secret_key_copies',
      unique: [],
      indexes: [],
    });
    const ring = new KeyRing(documents, copies, parts);
    try {
      await ring.#check();
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== 'unavailable') throw error;
      warn(`the keys of secrets could not be checked: ${source.place} does not answer`, error);
    }
    return ring;
  }

  /** Number of the version that wraps new data keys. */
  async current(): Promise<number> {
    return (await this.#ring()).current;
  }

  async versions(): Promise<readonly KeyVersionView[]> {
    return (await this.#ring()).keys.map(({ version, made_at }) => ({ version, made_at }));
  }

  /** A new data key, wrapped with the current version. */
  async newDataKey(): Promise<DataKey> {
    const key = randomBytes(DATA_KEY_BYTES);
    const version = await this.current();
    return { version, wrapped: await this.wrap(version, key), key };
  }

  wrap(version: number, key: Uint8Array): Promise<string> {
    return this.#source.wrap(version, key);
  }

  /** Throws `failed_precondition` naming the version. */
  unwrap(version: number, wrapped: string): Promise<Uint8Array> {
    return this.#source.unwrap(version, wrapped);
  }

  /** Makes a newer version the current one: one that the source has already, else a new one. Returns its number. */
  async rotate(): Promise<{ readonly from: number; readonly to: number }> {
    const from = await this.current();
    const newest = await this.#source.newest();
    const to = newest > from ? newest : await this.#source.create();
    await this.#requireCopies(to);
    await this.#add(to);
    return { from, to };
  }

  /** Records the newest version in this node's copy of the keys. Called at intervals. */
  async report(): Promise<void> {
    if (!this.#source.isCopied) return;
    const known = await this.#copies.get(SYSTEM_TENANT, this.#node);
    const newest = await this.#source.newest();
    const version = (known?.version ?? 0) + 1;
    await this.#copies.put({ tenant: SYSTEM_TENANT, id: this.#node, version, newest, at: this.#clock.now() });
  }

  /** Throws `failed_precondition` naming the running nodes whose copy of the keys lacks the version. */
  async #requireCopies(version: number): Promise<void> {
    await this.report();
    const copies = await this.#copies.find({ tenant: SYSTEM_TENANT, limit: MOST_NODES });
    const runs = ({ at }: CopyDocument): boolean => this.#clock.now() - at <= REPORTED_WITHIN_MS;
    const behind = copies.filter((copy) => runs(copy) && copy.newest < version).map(({ id }) => id);
    if (behind.length === 0) return;
    const cure = 'copy the key file there, wait half a minute, and try again';
    throw new SvcError('failed_precondition', `key version ${version} is missing on ${behind.join(', ')}: ${cure}`);
  }

  async #check(): Promise<void> {
    const known = await this.#documents.get(SYSTEM_TENANT, RING);
    if (known === null) {
      await this.#add((await this.#source.newest()) || (await this.#source.create()));
      // Another node may have been first, with another key.
      return this.#check();
    }
    if (known.format > RING_FORMAT) throw this.#refused(`written by a newer version (format ${known.format})`);
    const uses = await Promise.all(known.keys.map(({ version }) => this.#uses(version)));
    for (const [index, { version, proof }] of known.keys.entries()) {
      const used = uses[index] ?? 0;
      if ((used === 0 && version !== known.current) || (await this.#opens(version, proof))) continue;
      if (!this.#isAlone || uses.some((count) => count > 0)) throw await this.#lost(version, used);
      await this.#documents.deleteVersion(SYSTEM_TENANT, RING, known.version);
      return this.#check();
    }
  }

  /** Whether the source has the version, and it is the same key. */
  async #opens(version: number, proof: string): Promise<boolean> {
    try {
      return PROOF.equals(await this.#source.unwrap(version, proof));
    } catch (error) {
      if (error instanceof SvcError && error.code === 'failed_precondition') return false;
      throw error;
    }
  }

  async #lost(version: number, used: number): Promise<SvcError> {
    const has = (await this.#source.newest()) >= version ? 'is another key in' : 'is missing from';
    const cure = 'restore it from a backup, or copy it from a node that runs';
    return this.#refused(
      `key version ${version} ${has} ${this.#source.place}, ${counted(used, 'secret or payload key needs', 'secrets and payload keys need')} it: ${cure}`,
    );
  }

  #refused(why: string): SvcError {
    return new SvcError('invalid_config', `spec.secrets.keys: ${why}`, { field: 'spec.secrets.keys' });
  }

  async #ring(): Promise<RingDocument> {
    const known = await this.#documents.get(SYSTEM_TENANT, RING);
    if (known !== null) return known;
    // The source did not answer at the start.
    await this.#add((await this.#source.newest()) || (await this.#source.create()));
    return this.#ring();
  }

  /** The newest of the versions, and those that some value needs. */
  async #inUse(keys: RingDocument['keys']): Promise<RingDocument['keys']> {
    const needed: RingDocument['keys'][number][] = [];
    for (const [index, key] of keys.entries()) {
      if (index === keys.length - 1 || (await this.#uses(key.version)) > 0) needed.push(key);
    }
    return needed;
  }

  /** Records a version as the current one, unless a newer one is. */
  async #add(version: number): Promise<void> {
    const entry = {
      version,
      proof: await this.#source.wrap(version, PROOF),
      made_at: new Date(this.#clock.now()).toISOString(),
    };
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = await this.#documents.get(SYSTEM_TENANT, RING);
      if (known !== null && known.current >= version) return;
      const keys = [...(await this.#inUse(known?.keys ?? [])), entry];
      const base = { tenant: SYSTEM_TENANT, id: RING, format: RING_FORMAT, current: version, keys };
      const isWritten =
        known === null
          ? await this.#documents.insert({ ...base, version: 1 })
          : await this.#documents.replace({ ...base, version: known.version + 1 }, known.version);
      if (isWritten) return;
    }
    throw new SvcError('unavailable', 'the keys of secrets are being changed by other nodes; try again', {
      retryAfterMs: 1_000,
    });
  }
}
