import type { Clock } from '../../runtime/clock.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { BriefMemory } from '../brief-memory.ts';
import type { Caller, KeyVerifier } from './api.ts';
import { digestOf, isKeyText, sameText } from './key-text.ts';
import { type ApiKeyDigest, type ApiKeyDocument, deathOf, ownerOf } from './record.ts';
import type { KeyUses } from './uses.ts';

/** A key revoked on another node is still taken for this long, counted from before the store was asked. */
const FRESH_MS = 750;
const MOST_CACHED = 10_000;

/** A key, and the key that made it. */
interface Found {
  readonly key: ApiKeyDocument;
  readonly parent: ApiKeyDocument | null;
}

/** Keys by what callers present, remembered for less than a second; at most one look for a key at a time. */
export class KeyLookup implements KeyVerifier {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #digests: Collection<ApiKeyDigest>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #uses: KeyUses;
  readonly #memory: BriefMemory<Found | null>;

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
    this.#memory = new BriefMemory({
      read: (digest: string) => this.#read(digest),
      keep: (found) => found !== null,
      ...{ clock: parts.clock, freshMs: FRESH_MS, most: MOST_CACHED },
    });
  }

  async verify(text: string, authenticationRequired: boolean): Promise<Caller> {
    const key = await this.find(text);
    // One answer for all that is wrong.
    if (key === null) throw new SvcError('unauthenticated');
    if (authenticationRequired && key.owner_kind === 'local') throw new SvcError('unauthenticated');
    this.#uses.note(key);
    return { ...ownerOf(key), key: { id: key.id, scopes: key.scopes, expiresAt: Date.parse(key.expires_at) } };
  }

  /** The live key of this text, or null. Throws `unavailable`. */
  async find(text: string): Promise<ApiKeyDocument | null> {
    if (!isKeyText(text)) return null;
    const digest = digestOf(text);
    const found = await this.#memory.get(digest);
    if (found === null || !sameText(found.key.digest, digest)) return null;
    const now = this.#clock.now();
    const isDead = [found.key, found.parent].some((one) => one !== null && deathOf(one, now) !== null);
    return isDead ? null : found.key;
  }

  /** Everything is looked up anew: something changed here. */
  forget(): void {
    this.#memory.forget();
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
