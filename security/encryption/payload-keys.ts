import { hkdfSync, randomBytes } from 'node:crypto';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { KEY_MISSING, type PayloadKey, type PayloadKeys } from '../../runtime/encryption/payload-keys.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { SingleFlight } from '../../runtime/kit/lazy.ts';
import { turnsFirst } from '../../runtime/kit/waits.ts';
import type { KeyRing } from './key-ring.ts';
import { DATA_KEY_BYTES } from './key-source.ts';

/** A data key of one tenant, wrapped by a version of the key ring. */
interface PayloadKeyDocument extends StoredDocument {
  readonly of: string;
  /** The version of the ring that was current when it was made: the number in encrypted texts. */
  readonly number: number;
  /** The version that wraps it now. */
  readonly key_version: number;
  readonly wrapped: string;
}

const PAYLOAD_KEYS: CollectionSpec = { name: 'payload_keys', unique: [], indexes: [['key_version']] };

/** Keys that are read at once. */
const STEP = 20;

const idOf = (tenant: string, version: number): string => `${tenant}.${version}`;

interface Kept {
  readonly key: PayloadKey;
  /** When it was last known to be the newest, `Clock.monotonic`. */
  readonly at: number;
}

interface PayloadKeysParts {
  readonly ring: KeyRing;
  /** The tenants whose payloads are encrypted. */
  readonly tenants: 'all' | readonly string[];
  readonly clock: Pick<Clock, 'monotonic'>;
  /** A rotation is noticed within this time. */
  readonly refreshMs: number;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Data keys of tenants in the document store. Each rotation of the key ring gives every tenant a new data key for later writes;
 * the older ones stay, wrapped with the current version, for earlier writes. A key that was fetched stays in memory until the
 * process ends, so that an outage of store or key service stops no work.
 */
export class StoredPayloadKeys implements PayloadKeys {
  readonly #parts: PayloadKeysParts;
  readonly #documents: Collection<PayloadKeyDocument>;
  readonly #tenants: ReadonlySet<string> | null;
  readonly #newest = new Map<string, Kept>();
  readonly #known = new Map<string, PayloadKey>();
  readonly #loads = new SingleFlight<string, PayloadKey>();

  static async open(documents: Documents, parts: PayloadKeysParts): Promise<StoredPayloadKeys> {
    return new StoredPayloadKeys(await collectionOf(documents), parts);
  }

  private constructor(documents: Collection<PayloadKeyDocument>, parts: PayloadKeysParts) {
    this.#documents = documents;
    this.#parts = parts;
    this.#tenants = parts.tenants === 'all' ? null : new Set(parts.tenants);
  }

  get encryptsAny(): boolean {
    return this.#tenants === null || this.#tenants.size > 0;
  }

  encrypts(tenant: string): boolean {
    return this.#tenants === null || this.#tenants.has(tenant);
  }

  newest(tenant: string): PayloadKey | undefined {
    const kept = this.#newest.get(tenant);
    if (kept === undefined) return undefined;
    const { clock, refreshMs, warn } = this.#parts;
    if (clock.monotonic() - kept.at < refreshMs) return kept.key;
    // Try again next time, also when this read fails.
    this.#newest.set(tenant, { key: kept.key, at: clock.monotonic() });
    this.loadNewest(tenant).catch((error: unknown) => {
      warn(
        `payloads of ${tenant} are still encrypted with key version ${kept.key.version}: a newer one could not be read`,
        error,
      );
    });
    return kept.key;
  }

  loadNewest(tenant: string): Promise<PayloadKey> {
    return this.#loads.run(`${tenant}/`, async () => {
      const version = await this.#parts.ring.current();
      const key =
        this.known(tenant, version) ?? (await this.#read(tenant, version)) ?? (await this.#make(tenant, version));
      this.#newest.set(tenant, { key, at: this.#parts.clock.monotonic() });
      return key;
    });
  }

  known(tenant: string, version: number): PayloadKey | undefined {
    return this.#known.get(idOf(tenant, version));
  }

  load(tenant: string, version: number): Promise<PayloadKey> {
    return this.#loads.run(`${tenant}/${version}`, async () => {
      const key = this.known(tenant, version) ?? (await this.#read(tenant, version));
      if (key !== null) return key;
      const why = 'the store has no such key: restore its documents from a backup';
      throw unavailable(tenant, version, why, { reason: KEY_MISSING });
    });
  }

  /** How many keys a version of the ring wraps. */
  usesOf(version: number): Promise<number> {
    return this.#documents.count({ tenant: SYSTEM_TENANT, where: { key_version: version } });
  }

  /** Wraps keys of older versions with the current one. Stops when `isOver`. Returns how many. */
  async rewrap(current: number, isOver: () => boolean): Promise<number> {
    const { ring } = this.#parts;
    let wrapped = 0;
    while (!isOver()) {
      const where = { key_version: { lt: current } };
      const older = await this.#documents.find({ tenant: SYSTEM_TENANT, where, limit: STEP });
      if (older.length === 0) break;
      for (const one of older) {
        const dataKey = await ring.unwrap(one.key_version, one.wrapped);
        const next = {
          ...one,
          version: one.version + 1,
          key_version: current,
          wrapped: await ring.wrap(current, dataKey),
        };
        if (await this.#documents.replace(next, one.version)) wrapped += 1;
        await turnsFirst();
      }
    }
    return wrapped;
  }

  async #make(tenant: string, version: number): Promise<PayloadKey> {
    const { ring } = this.#parts;
    const wrapped = await ring.wrap(version, randomBytes(DATA_KEY_BYTES));
    const base = { tenant: SYSTEM_TENANT, id: idOf(tenant, version), version: 1 };
    await this.#documents.insert({ ...base, of: tenant, number: version, key_version: version, wrapped });
    // Another node may have been first, with another key.
    return this.load(tenant, version);
  }

  async #read(tenant: string, version: number): Promise<PayloadKey | null> {
    const stored = await this.#documents.get(SYSTEM_TENANT, idOf(tenant, version));
    if (stored === null) return null;
    try {
      const dataKey = await this.#parts.ring.unwrap(stored.key_version, stored.wrapped);
      // Derived from tenant and version, so that a key that was moved here from another tenant decrypts nothing.
      const secret = new Uint8Array(
        hkdfSync('sha256', dataKey, '', `svc payload ${tenant} ${version}`, DATA_KEY_BYTES),
      );
      const key = { tenant, version, secret };
      this.#known.set(idOf(tenant, version), key);
      return key;
    } catch (thrown) {
      throw unavailable(tenant, version, toSvcError(thrown).message, { cause: thrown });
    }
  }
}

const collectionOf = (documents: Documents): Promise<Collection<PayloadKeyDocument>> =>
  documents.collection<PayloadKeyDocument>(PAYLOAD_KEYS);

/** How many keys of payloads a version of the key ring wraps. */
export async function payloadKeyUses(documents: Documents, version: number): Promise<number> {
  return (await collectionOf(documents)).count({ tenant: SYSTEM_TENANT, where: { key_version: version } });
}

/** Whether the store has, or had, encrypted payloads. */
export async function hasPayloadKeys(documents: Documents): Promise<boolean> {
  return (await (await collectionOf(documents)).count({ tenant: SYSTEM_TENANT })) > 0;
}

const unavailable = (
  tenant: string,
  version: number,
  why: string,
  context: { readonly reason?: string; readonly cause?: unknown },
): SvcError =>
  new SvcError(
    'unavailable',
    `version ${version} of the payload key of tenant ${tenant} cannot be used: ${why}`,
    context,
  );
