import { createPublicKey, type KeyObject } from 'node:crypto';
import type { CryptoKey, JWK } from 'jose';
import { z } from 'zod';
import { jose } from '../../manifests/late-libraries.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, Documents } from '../../runtime/documents.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { Lazy } from '../../runtime/kit/lazy.ts';
import { sleep } from '../../runtime/kit/waits.ts';

const MIN_MODULUS_BITS = 2_048;

const MAX_MODULUS_BITS = 8_192;

/** An RS256 public key of a JWKS, without private parts. */
export const PublicJwk = z.object({
  kty: z.literal('RSA'),
  n: z.string().max(2_048),
  e: z.string().max(16),
  kid: z.string().length(43),
  alg: z.literal('RS256'),
  use: z.literal('sig'),
});

export type PublicJwk = z.infer<typeof PublicJwk>;

/**
 * The JWK of an RSA public key. Its `kid` is the RFC 7638 thumbprint, so an id always identifies one key: a transit key that was
 * deleted and created again under its name gets another id. Throws a `TypeError` for other kinds of keys.
 */
export async function publicJwkOf(key: KeyObject): Promise<PublicJwk> {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa' || bits < MIN_MODULUS_BITS || bits > MAX_MODULUS_BITS) {
    throw new TypeError(`expected an RSA key of ${MIN_MODULUS_BITS} to ${MAX_MODULUS_BITS} bits`);
  }
  const { n, e } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  if (typeof n !== 'string' || typeof e !== 'string') throw new TypeError('the key has no modulus');
  return { kty: 'RSA', n, e, kid: await thumbprint({ kty: 'RSA', n, e }), alg: 'RS256', use: 'sig' };
}

/** The key of an untrusted JWK; null unless it is an RSA key whose `kid` is its thumbprint. */
async function keyOfJwk(value: unknown): Promise<{ readonly jwk: PublicJwk; readonly key: KeyObject } | null> {
  const jwk = PublicJwk.safeParse(value);
  if (!jwk.success) return null;
  try {
    const key = createPublicKey({ key: { kty: 'RSA', n: jwk.data.n, e: jwk.data.e }, format: 'jwk' });
    const computed = await publicJwkOf(key);
    return computed.kid === jwk.data.kid ? { jwk: computed, key } : null;
  } catch (error) {
    // Node.js throws a TypeError or an OpenSSL error: it is not a key.
    if (error instanceof Error) return null;
    throw error;
  }
}

const thumbprint = (jwk: JWK): Promise<string> => jose().calculateJwkThumbprint(jwk, 'sha256');

/** Lifetime of a node token (G20). */
export const NODE_TOKEN_TTL_MS = 3_600_000;

/** Tolerated difference between the clocks of two nodes, or of a node and its key service. */
const CLOCK_MARGIN_MS = 600_000;

/** A key verifies for this long after it last signed; then all its tokens have expired. */
export const KEY_RETENTION_MS = NODE_TOKEN_TTL_MS + CLOCK_MARGIN_MS;

export const DAY_MS = 86_400_000;

/** A signer publishes its key again at this interval. */
const PUBLISH_AGAIN_MS = 300_000;

/** A key is served for this long after it was last published. */
const SERVED_MS = KEY_RETENTION_MS + PUBLISH_AGAIN_MS;

/** A key that was deleted from the documents verifies for at most this long. */
const FRESH_MS = 60_000;

/** Minimum time between two reads, independent of incoming tokens. */
const COOLDOWN_MS = 1_000;

/** Maximum number of calls with unknown keys that wait for the next read. */
const MAX_WAITING = 1_000;

const MAX_KEYS = 1_000;

/** The public key of a `kid`, for verifiers of node tokens. */
export interface FindKey {
  /** Null when the key does not exist. Throws `unavailable` when the keys cannot be read. */
  find(kid: string): Promise<KeyObject | CryptoKey | null>;
}

/** Public keys of all controllers of a fleet, shared through its documents. */
export interface PublishedKeys extends FindKey {
  /** Publishes a key to all nodes before its first token is issued; a repeat within five minutes is free. */
  publish(jwk: JWK): Promise<void>;
  /** All keys that may still have valid tokens, at most a second old. Throws `unavailable`. */
  all(): Promise<readonly JWK[]>;
}

const KEYS: CollectionSpec = { name: 'signing_keys', unique: [], indexes: [['last_seen']] };

const Row = z.object({ jwk: PublicJwk, last_seen: z.number() });

interface KeyDocument {
  readonly tenant: string;
  /** The kid. */
  readonly id: string;
  /** Equals `last_seen`, so that the latest write wins. */
  readonly version: number;
  readonly jwk: PublicJwk;
  /** Unix ms. */
  readonly last_seen: number;
}

interface KnownKey {
  readonly jwk: PublicJwk;
  readonly key: KeyObject;
  readonly lastSeenMs: number;
}

interface PublishedKeysOptions {
  readonly documents: Documents;
  readonly clock: Clock;
}

/**
 * Keys in collection `signing_keys`, one document for each. An unknown key is read with single flight and at most once a second:
 * rotation needs no restart, and forged tokens cause no load.
 */
export function createPublishedKeys(options: PublishedKeysOptions): PublishedKeys {
  return new DocumentKeys(options);
}

class DocumentKeys implements PublishedKeys {
  readonly #collection: Lazy<Collection<KeyDocument>>;
  readonly #clock: Clock;
  #known: ReadonlyMap<string, KnownKey> = new Map();
  readonly #said = new Map<string, number>();
  /** Keys that look unused by the wall clock, and since when they have looked so without a change. */
  readonly #unused = new Map<string, { readonly lastSeen: number; readonly since: number }>();
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #attemptedAtMs = Number.NEGATIVE_INFINITY;
  #next: Promise<void> | null = null;
  #waiting = 0;

  constructor({ documents, clock }: PublishedKeysOptions) {
    this.#collection = new Lazy(() => documents.collection(KEYS));
    this.#clock = clock;
  }

  async publish(value: JWK): Promise<void> {
    const found = await keyOfJwk(value);
    if (found === null) throw new SvcError('internal', 'the signing key to publish is not an RSA public key');
    const { jwk, key } = found;
    const now = this.#clock.now();
    const said = this.#said.get(jwk.kid) ?? Number.NEGATIVE_INFINITY;
    if (now >= said && now - said < PUBLISH_AGAIN_MS) return;
    const keys = await this.#collection.get();
    await keys.put({ tenant: SYSTEM_TENANT, id: jwk.kid, version: now, jwk, last_seen: now });
    this.#said.clear();
    this.#said.set(jwk.kid, now);
    this.#known = new Map(this.#known).set(jwk.kid, { jwk, key, lastSeenMs: now });
    await this.#deleteUnused(keys, now);
  }

  /**
   * Deletes keys that no signer has published for as long as a key is served, by this process's monotonic clock: a node whose
   * wall clock is ahead would otherwise delete the keys of all others, and no node would accept their tokens.
   */
  async #deleteUnused(keys: Collection<KeyDocument>, now: number): Promise<void> {
    const where = { last_seen: { lt: now - SERVED_MS } };
    const rows = await keys.find({ tenant: SYSTEM_TENANT, where, limit: MAX_KEYS });
    const before = new Map(this.#unused);
    this.#unused.clear();
    for (const { id, last_seen } of rows) {
      const known = before.get(id);
      const unused = known?.lastSeen === last_seen ? known : { lastSeen: last_seen, since: this.#clock.monotonic() };
      if (this.#clock.monotonic() - unused.since < SERVED_MS) this.#unused.set(id, unused);
      else await keys.deleteMany({ tenant: SYSTEM_TENANT, where: { id, last_seen } });
    }
  }

  async find(kid: string): Promise<KeyObject | null> {
    const justLooked = this.#isStale(FRESH_MS) && (await this.#refreshOrKeep());
    const known = this.#served(kid);
    if (known !== null || justLooked) return known;
    if (this.#waiting >= MAX_WAITING) throw busy();
    this.#waiting += 1;
    try {
      await this.#lookSoon();
    } finally {
      this.#waiting -= 1;
    }
    return this.#served(kid);
  }

  async all(): Promise<readonly JWK[]> {
    if (this.#isStale(COOLDOWN_MS)) await this.#lookSoon();
    return [...this.#known.values()]
      .filter((known) => this.#isServed(known))
      .sort((a, b) => b.lastSeenMs - a.lastSeenMs)
      .map(({ jwk }) => jwk);
  }

  #served(kid: string): KeyObject | null {
    const known = this.#known.get(kid);
    return known !== undefined && this.#isServed(known) ? known.key : null;
  }

  #isServed({ lastSeenMs }: KnownKey): boolean {
    return this.#clock.now() - lastSeenMs <= SERVED_MS;
  }

  #isStale(afterMs: number): boolean {
    return this.#clock.monotonic() - this.#lookedAtMs >= afterMs;
  }

  /** While the documents are down known keys keep verifying; unknown keys are read separately. */
  async #refreshOrKeep(): Promise<boolean> {
    if (this.#clock.monotonic() - this.#attemptedAtMs < COOLDOWN_MS) return false;
    try {
      await this.#lookSoon();
      return true;
    } catch (error) {
      if (this.#known.size === 0) throw error;
      return false;
    }
  }

  /** One read for all waiting calls, after the cool-down of the previous read. */
  #lookSoon(): Promise<void> {
    this.#next ??= this.#lookAfterCooldown();
    return this.#next;
  }

  async #lookAfterCooldown(): Promise<void> {
    const waitMs = COOLDOWN_MS - (this.#clock.monotonic() - this.#attemptedAtMs);
    // Even without a wait this must yield: `#next` must be set before it is cleared.
    await (waitMs > 0 ? sleep(this.#clock, waitMs) : Promise.resolve());
    // Later calls may need a newer key, so they get the next read.
    this.#next = null;
    this.#attemptedAtMs = this.#clock.monotonic();
    await this.#look();
  }

  async #look(): Promise<void> {
    try {
      const keys = await this.#collection.get();
      const where = { last_seen: { gte: this.#clock.now() - SERVED_MS } };
      const rows = await keys.find({ tenant: SYSTEM_TENANT, where, limit: MAX_KEYS });
      this.#known = await knownKeys(rows);
      this.#lookedAtMs = this.#clock.monotonic();
    } catch (error) {
      throw new SvcError('unavailable', 'The keys of the controllers cannot be read now.', {
        cause: toSvcError(error),
        retryAfterMs: COOLDOWN_MS,
      });
    }
  }
}

const busy = (): SvcError =>
  new SvcError('unavailable', 'Too many tokens with unknown keys; try again later.', { retryAfterMs: COOLDOWN_MS });

/** Invalid rows are skipped, so that they do not affect the others. */
async function knownKeys(rows: readonly unknown[]): Promise<ReadonlyMap<string, KnownKey>> {
  const known = new Map<string, KnownKey>();
  for (const value of rows) {
    const row = Row.safeParse(value);
    const found = row.success ? await keyOfJwk(row.data.jwk) : null;
    if (row.success && found !== null) known.set(found.jwk.kid, { ...found, lastSeenMs: row.data.last_seen });
  }
  return known;
}
