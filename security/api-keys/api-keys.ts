import type { Clock } from '../../runtime/clock.ts';
import { newestFirst, pageOf, shownPage } from '../../runtime/documents/pages.ts';
import type { Collection, Documents, Query } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { OneAtATimePerKey } from '../../runtime/kit/queues.ts';
import type { Random } from '../../runtime/random.ts';
import { allows } from '../tenant.ts';
import type { ApiKeys, KeyVerifier } from './api.ts';
import { KeyLookup, KeyUses } from './lookup.ts';
import {
  API_KEY_DIGESTS,
  API_KEYS,
  type ApiKeyDigest,
  type ApiKeyDocument,
  checkNewKey,
  digestOf,
  MOST_LIVE_KEYS,
  makeKeyText,
  viewOf,
} from './record.ts';

const MAX_ATTEMPTS = 16;

/** Largest page of a list. */
const MOST_LISTED = 1_000;

const NEWEST_FIRST = newestFirst('created_at');

interface ApiKeysParts {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
  readonly warn: (message: string, error: unknown) => void;
  /** Log of created and revoked keys: ids and names, never a key. */
  readonly audit: (event: Readonly<Record<string, string>>, message: string) => void;
}

/** API keys of an installation, and their verifier for the authenticator. `close` waits for pending writes. */
export async function openApiKeys(parts: ApiKeysParts): Promise<ApiKeys & KeyVerifier & { close(): Promise<void> }> {
  const { documents, clock, random } = parts;
  const keys = await documents.collection<ApiKeyDocument>(API_KEYS);
  const digests = await documents.collection<ApiKeyDigest>(API_KEY_DIGESTS);
  const uses = new KeyUses({ ...parts, keys });
  const lookup = new KeyLookup({ keys, digests, clock, uses });
  const owners = new KeyOwners({ keys, digests, clock });
  const said = (event: string, key: ApiKeyDocument, by: string): void =>
    parts.audit({ event, key_id: key.id, key_name: key.name, tenant: key.tenant, by }, 'API key');

  /** A key that the caller may see: its own, or any in a tenant that it administers. */
  async function find(identity: Identity, id: string): Promise<ApiKeyDocument> {
    const key = await keys.get(identity.tenant, id.toLowerCase());
    if (key === null || !(isOwner(identity, key) || administers(identity))) {
      throw new SvcError('not_found', 'API key not found');
    }
    return key;
  }

  return {
    verify: (text, authenticationRequired) => lookup.verify(text, authenticationRequired),
    close: () => uses.settled(),

    async create(caller, request) {
      const now = clock.now();
      const { name, scopes, expiresAt } = checkNewKey(caller, request, now);
      const text = makeKeyText();
      const { tenant, kind, subject, roles, tier } = caller;
      const digest = digestOf(text);
      const key: ApiKeyDocument = {
        tenant,
        id: random.uuid(),
        version: 1,
        name,
        digest,
        scopes,
        owner_kind: kind,
        owner_subject: subject,
        owner_roles: [...roles],
        owner_tier: tier,
        parent: caller.key?.id ?? null,
        created_at: new Date(now).toISOString(),
        expires_at: new Date(expiresAt).toISOString(),
        last_used_at: null,
        revoked_at: null,
        revoked_by: null,
      };
      await owners.admit(caller, async () => {
        // The digest first: a digest without its key is harmless.
        await digests.insert({ tenant: SYSTEM_TENANT, id: digest, version: 1, key_tenant: tenant, key_id: key.id });
        await keys.insert(key);
      });
      said('ApiKeyCreated', key, subject);
      return { ...viewOf(key, now), key: text };
    },

    async list(identity, { everybody, ...page }) {
      if (everybody && !administers(identity)) {
        throw new SvcError('forbidden', 'Only administrators of the tenant can list keys of other users.');
      }
      const { tenant, kind, subject } = identity;
      const where: Query['where'] = everybody ? {} : { owner_subject: subject, owner_kind: kind };
      const asked = { ...page, limit: Math.min(page.limit, MOST_LISTED) };
      const now = clock.now();
      const found = await pageOf(keys, 'api keys', { tenant, where, sort: NEWEST_FIRST }, asked);
      return shownPage(found, (key) => viewOf(key, now));
    },

    async get(identity, id) {
      return viewOf(await find(identity, id), clock.now());
    },

    async revoke(identity, id) {
      const key = await revoked(keys, () => find(identity, id), identity.subject, clock.now());
      lookup.forget();
      if (key.changed) said('ApiKeyRevoked', key.document, identity.subject);
      return viewOf(key.document, clock.now());
    },

    async validate({ tenant }, text) {
      const key = await lookup.find(text);
      return key === null || key.tenant !== tenant ? null : viewOf(key, clock.now());
    },
  };
}

/** The key, revoked by this call or by an earlier one; retried when a use is recorded meanwhile. */
async function revoked(
  keys: Collection<ApiKeyDocument>,
  find: () => Promise<ApiKeyDocument>,
  by: string,
  now: number,
): Promise<{ readonly document: ApiKeyDocument; readonly changed: boolean }> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const known = await find();
    if (known.revoked_at !== null) return { document: known, changed: false };
    const revoked_at = new Date(now).toISOString();
    const document = { ...known, revoked_at, revoked_by: by, version: known.version + 1 };
    if (await keys.replace(document, known.version)) return { document, changed: true };
  }
  throw new SvcError('unavailable', 'the API key is being changed by other calls; try again', { retryAfterMs: 1_000 });
}

const isOwner = ({ kind, subject }: Identity, key: ApiKeyDocument): boolean =>
  key.owner_subject === subject && key.owner_kind === kind;

/** Callers with write access to the tenant can see and revoke the keys of all its users. */
const administers = (identity: Identity): boolean => allows(identity, 'write');

/** Expired and revoked keys are kept for this long. */
const REMEMBERED_MS = 90 * 86_400_000;

/** Maximum number of old keys deleted when a key is created. */
const SWEPT_AT_ONCE = 100;

/** Enforces the maximum number of keys of an owner, and deletes old ones. */
class KeyOwners {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #digests: Collection<ApiKeyDigest>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #queues = new OneAtATimePerKey();

  constructor(parts: {
    readonly keys: Collection<ApiKeyDocument>;
    readonly digests: Collection<ApiKeyDigest>;
    readonly clock: Pick<Clock, 'now'>;
  }) {
    this.#keys = parts.keys;
    this.#digests = parts.digests;
    this.#clock = parts.clock;
  }

  /**
   * Creates a key while its owner is below the limit; throws `limit_reached`. Creates of one owner run one at a time on a node;
   * concurrent ones on n nodes can exceed the limit by n - 1.
   */
  admit(owner: Identity, make: () => Promise<void>): Promise<void> {
    const id = JSON.stringify([owner.tenant, owner.kind, owner.subject]);
    return this.#queues.run(id, () => this.#make(owner, make));
  }

  async #make({ tenant, kind, subject }: Identity, make: () => Promise<void>): Promise<void> {
    const where = { owner_subject: subject, owner_kind: kind };
    const now = this.#clock.now();
    await this.#sweep(tenant, where, new Date(now - REMEMBERED_MS).toISOString());
    const live = { ...where, revoked_at: null, expires_at: { gt: new Date(now).toISOString() } };
    if ((await this.#keys.count({ tenant, where: live })) >= MOST_LIVE_KEYS) {
      throw new SvcError('limit_reached', `at most ${MOST_LIVE_KEYS} active API keys of one owner; revoke one first`);
    }
    await make();
  }

  async #sweep(tenant: string, owner: Readonly<Record<string, string>>, before: string): Promise<void> {
    const dead = [
      { ...owner, expires_at: { lt: before } },
      { ...owner, revoked_at: { lt: before } },
    ];
    for (const where of dead) {
      for (const { id, digest } of await this.#keys.find({ tenant, where, limit: SWEPT_AT_ONCE })) {
        await this.#digests.delete(SYSTEM_TENANT, digest);
        await this.#keys.delete(tenant, id);
      }
    }
  }
}
