import type { createLocalJWKSet, JSONWebKeySet, JWSHeaderParameters } from 'jose';
import { z } from 'zod';
import { jose } from '../manifests/late-libraries.ts';
import type { Clock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';
import { LazyHttp } from './lazy-http.ts';

const MAX_JWKS_BYTES = 1024 * 1024;
const MAX_KEYS = 100;
/** Time for which fetched keys are used while the provider does not answer. */
const STALE_MS = 3_600_000;
/** Minimum time between fetches after an unknown `kid` or a failure. */
const COOLDOWN_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;

const KeySetDocument = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(MAX_KEYS) });

interface KeySetSettings {
  readonly jwksUri: string;
  readonly cacheTtlMs: number;
  readonly requestTimeoutMs: number;
}

type FindKey = ReturnType<typeof createLocalJWKSet>;
type PublicKey = Awaited<ReturnType<FindKey>>;

/**
 * Public keys of one realm. An unknown key is fetched from the provider (rotation without a restart), at most once per cool-down.
 * While the provider is down the last keys are used until they are an hour old, then calls fail with `unavailable`.
 */
export class KeySet {
  readonly #settings: KeySetSettings;
  readonly #clock: Clock;
  readonly #http: LazyHttp;
  #find: FindKey | null = null;
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #attemptedAtMs = Number.NEGATIVE_INFINITY;
  #failure: unknown = null;
  #fetching: Promise<void> | null = null;

  constructor(settings: KeySetSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#http = new LazyHttp({
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: settings.requestTimeoutMs,
      bodyTimeout: settings.requestTimeoutMs,
      maxResponseSize: MAX_JWKS_BYTES,
    });
  }

  /** The key of a token's header. Throws jose's `JWKSNoMatchingKey`, or `unavailable` when it cannot be fetched. */
  async keyFor(header: JWSHeaderParameters): Promise<PublicKey> {
    if (this.#ageMs() >= this.#settings.cacheTtlMs) {
      const refreshing = this.#refresh();
      // While the provider is known to be down, calls do not wait for it as long as the last keys are usable.
      if (this.#failure === null || !this.#isUsable()) await refreshing;
    }
    try {
      return await this.#lookUp(header);
    } catch (error) {
      if (!(error instanceof jose().errors.JWKSNoMatchingKey)) throw error;
    }
    await this.#refresh();
    try {
      return await this.#lookUp(header);
    } catch (error) {
      // The provider may have a new key that could not be fetched, so the token may be valid.
      if (error instanceof jose().errors.JWKSNoMatchingKey && this.#failure !== null) throw this.#unavailable();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  #lookUp(header: JWSHeaderParameters): Promise<PublicKey> {
    if (this.#find === null || !this.#isUsable()) throw this.#unavailable();
    return this.#find(header);
  }

  #ageMs(): number {
    return this.#clock.monotonic() - this.#fetchedAtMs;
  }

  #isUsable(): boolean {
    return this.#ageMs() <= STALE_MS;
  }

  #unavailable(): SvcError {
    return new SvcError('unavailable', 'The identity provider does not answer, so the token could not be checked.', {
      cause: this.#failure,
      retryAfterMs: COOLDOWN_MS,
    });
  }

  /** Fetches with single flight; does nothing within the cool-down of the last attempt. */
  async #refresh(): Promise<void> {
    if (this.#fetching !== null) return this.#fetching;
    if (this.#clock.monotonic() - this.#attemptedAtMs < COOLDOWN_MS) return;
    this.#attemptedAtMs = this.#clock.monotonic();
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = null;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    try {
      this.#find = jose().createLocalJWKSet(await this.#download());
      this.#fetchedAtMs = this.#clock.monotonic();
      this.#failure = null;
    } catch (error) {
      this.#failure = error;
    }
  }

  async #download(): Promise<JSONWebKeySet> {
    const { agent, request } = await this.#http.open();
    const answer = await request(this.#settings.jwksUri, {
      dispatcher: agent,
      headers: { accept: 'application/jwk-set+json, application/json' },
      signal: AbortSignal.timeout(this.#settings.requestTimeoutMs),
    });
    if (answer.statusCode !== 200) {
      await answer.body.dump();
      throw new Error(`JWKS endpoint answered ${answer.statusCode}`);
    }
    return KeySetDocument.parse(await answer.body.json());
  }
}
