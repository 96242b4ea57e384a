import type { Clock } from '../../runtime/clock.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { isSameSecret } from '../constant-time.ts';
import { TtlCache } from '../ttl-cache.ts';
import type { Caller, KeyVerifier } from './api.ts';
import { type ApiKeyDigest, type ApiKeyDocument, deathOf, digestOf, isKeyText, ownerOf } from './record.ts';

/** A key revoked on another node is accepted for at most this long, counted from the start of the read. */
const FRESH_MS = 750;

const MOST_CACHED = 10_000;

/** A key, and the key that created it. */
interface Found {
  readonly key: ApiKeyDocument;
  readonly parent: ApiKeyDocument | null;
}

/** Finds keys by their text, through a TTL cache of less than a second. */
export class KeyLookup implements KeyVerifier {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #digests: Collection<ApiKeyDigest>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #uses: KeyUses;
  readonly #cache: TtlCache<Found | null>;

  constructor(parts: {
    readonly keys: Collection<ApiKeyDocument>;
    readonly digests: Collection<ApiKeyDigest>;
    readonly clock: Pick<Clock, 'now'>;
    readonly uses: KeyUses;
  }) {
    this.#keys = parts.keys;
    this.#digests = parts.digests;
    this.#clock = parts.clock;
    this.#uses = parts.uses;
    this.#cache = new TtlCache({
      read: (digest: string) => this.#read(digest),
      keep: (found) => found !== null,
      clock: parts.clock,
      ttlMs: FRESH_MS,
      most: MOST_CACHED,
    });
  }

  async verify(text: string, authenticationRequired: boolean): Promise<Caller> {
    const key = await this.find(text);
    // The same answer for every kind of invalid key.
    if (key === null) throw new SvcError('unauthenticated');
    if (authenticationRequired && key.owner_kind === 'local') throw new SvcError('unauthenticated');
    this.#uses.note(key);
    return { ...ownerOf(key), key: { id: key.id, scopes: key.scopes, expiresAt: Date.parse(key.expires_at) } };
  }

  /** The active key of this text, or null. Throws `unavailable`. */
  async find(text: string): Promise<ApiKeyDocument | null> {
    if (!isKeyText(text)) return null;
    const digest = digestOf(text);
    const found = await this.#cache.get(digest);
    if (found === null || !isSameSecret(found.key.digest, digest)) return null;
    const now = this.#clock.now();
    const isDead = [found.key, found.parent].some((one) => one !== null && deathOf(one, now) !== null);
    return isDead ? null : found.key;
  }

  /** Clears the cache after a change on this node. */
  forget(): void {
    this.#cache.forget();
  }

  async #read(digest: string): Promise<Found | null> {
    const entry = await this.#digests.get(SYSTEM_TENANT, digest);
    const key = entry === null ? null : await this.#keys.get(entry.key_tenant, entry.key_id);
    if (key === null) return null;
    if (key.parent === null) return { key, parent: null };
    const parent = await this.#keys.get(key.tenant, key.parent);
    return parent === null ? null : { key, parent };
  }
}

const RESOLUTION_MS = 60_000;

const MOST_REMEMBERED = 10_000;

/** Records the last use of keys, to the minute, in the background. Never overwrites a change of a key. */
export class KeyUses {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #notedAt = new Map<string, number>();
  readonly #writes = new Set<Promise<unknown>>();

  constructor(parts: {
    readonly keys: Collection<ApiKeyDocument>;
    readonly clock: Pick<Clock, 'now'>;
    readonly warn: (message: string, error: unknown) => void;
  }) {
    this.#keys = parts.keys;
    this.#clock = parts.clock;
    this.#warn = parts.warn;
  }

  note(key: ApiKeyDocument): void {
    const now = this.#clock.now();
    const stored = key.last_used_at === null ? 0 : Date.parse(key.last_used_at);
    if (now - Math.max(this.#notedAt.get(key.id) ?? 0, stored) < RESOLUTION_MS) return;
    if (this.#notedAt.size >= MOST_REMEMBERED) this.#notedAt.clear();
    this.#notedAt.set(key.id, now);
    const used = { ...key, last_used_at: new Date(now).toISOString(), version: key.version + 1 };
    // Compare-and-set: when the key is revoked meanwhile, this write is dropped.
    const write = this.#keys
      .replace(used, key.version)
      .catch((error: unknown) => this.#warn(`the last use of API key ${key.id} was not written`, error))
      .finally(() => this.#writes.delete(write));
    this.#writes.add(write);
  }

  /** Resolves when all writes have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#writes);
  }
}
