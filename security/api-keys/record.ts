import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { isSameSecret } from '../constant-time.ts';
import { type ApiKeyView, type Caller, isWithin, makesKeys, type NewApiKey, SCOPES } from './api.ts';

/** Keys by (tenant, id). Expired and revoked keys are kept for a while, so that lists show who created and revoked them. */
export const API_KEYS: CollectionSpec = {
  name: 'api_keys',
  unique: [],
  indexes: [['owner_subject', 'created_at'], ['created_at']],
  searched: ['owner_kind', 'revoked_at', 'expires_at'],
};

export interface ApiKeyDocument extends StoredDocument {
  readonly name: string;
  /** SHA-256 of the key, hex. */
  readonly digest: string;
  readonly owner_kind: Identity['kind'];
  readonly owner_subject: string;
  /** Rights of the owner when the key was made. */
  readonly owner_roles: readonly string[];
  readonly owner_tier: Identity['tier'];
  readonly scopes: readonly string[];
  /** The key that created it; it ends with that key. Null: created without a key. */
  readonly parent: string | null;
  /** ISO 8601, as all times here. */
  readonly created_at: string;
  readonly expires_at: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
}

/** The key of a digest. Stored in the system tenant, since the caller's tenant is only known once its key is found. */
export const API_KEY_DIGESTS: CollectionSpec = { name: 'api_key_digests', unique: [], indexes: [] };

/** `id` is the digest, the tenant `svc-system`. */
export interface ApiKeyDigest extends StoredDocument {
  readonly key_tenant: string;
  readonly key_id: string;
}

/** Why a key is no longer valid; null while it is. */
export function deathOf(key: ApiKeyDocument, now: number): 'revoked' | 'expired' | null {
  if (key.revoked_at !== null) return 'revoked';
  return Date.parse(key.expires_at) <= now ? 'expired' : null;
}

/** The identity that a key acts as. */
export const ownerOf = (key: ApiKeyDocument): Identity => ({
  kind: key.owner_kind,
  subject: key.owner_subject,
  tenant: key.tenant,
  roles: [...key.owner_roles],
  tier: key.owner_tier,
});

export const viewOf = (key: ApiKeyDocument, now: number): ApiKeyView => ({
  id: key.id,
  name: key.name,
  tenant_id: key.tenant,
  owner: { kind: key.owner_kind, subject: key.owner_subject, tier: key.owner_tier },
  scopes: [...key.scopes],
  status: deathOf(key, now) ?? 'active',
  made_by_key: key.parent,
  created_at: key.created_at,
  expires_at: key.expires_at,
  last_used_at: key.last_used_at,
  revoked_at: key.revoked_at,
  revoked_by: key.revoked_by,
});

/** Prefix of all API keys, by which scanners find leaked ones. */
const KEY_PREFIX = 'svc_';

const SECRET_BYTES = 32;

const SECRET_CHARS = 43;

const FORM = /^svc_[A-Za-z0-9_-]{49}$/;

/** A new key: `svc_`, 32 random bytes and a checksum, as base64url; 53 characters. */
export function makeKeyText(random: (bytes: number) => Uint8Array = randomBytes): string {
  const secret = Buffer.from(random(SECRET_BYTES)).toString('base64url');
  return `${KEY_PREFIX}${secret}${checksumOf(secret)}`;
}

/** Whether a bearer token has the prefix of API keys. It may be malformed. */
export const looksLikeKey = (token: string): boolean => token.startsWith(KEY_PREFIX);

/** Whether a key is well formed and its checksum is right: a truncated or mistyped key costs no read of the store. */
export function isKeyText(text: string): boolean {
  if (!FORM.test(text)) return false;
  const secret = text.slice(KEY_PREFIX.length, KEY_PREFIX.length + SECRET_CHARS);
  return isSameSecret(text.slice(KEY_PREFIX.length + SECRET_CHARS), checksumOf(secret));
}

/** The stored digest of a key. A key has 256 random bits, so a plain SHA-256 cannot be reversed by guessing. */
export const digestOf = (text: string): string => hash('sha256', text, 'hex');

function checksumOf(secret: string): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(secret));
  return sum.toString('base64url');
}

/** Maximum number of active keys of an owner. */
export const MOST_LIVE_KEYS = 50;

const MOST_SCOPES = 32;

const MAX_NAME_CHARS = 100;

const MIN_EXPIRY_SECONDS = 60;

const MAX_EXPIRY_SECONDS = 366 * 86_400;

const DEFAULT_EXPIRY_SECONDS = 90 * 86_400;

const CONTROL = /\p{Cc}/u;

/** A valid request with defaults filled in. */
interface CheckedKey {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Unix ms. */
  readonly expiresAt: number;
}

/**
 * Throws `invalid_argument` naming the field; `forbidden` for an actor, a key without `keys:write`, and scopes that the calling
 * key lacks. A key created by a key cannot create keys and expires no later than it.
 */
export function checkNewKey(caller: Caller, request: NewApiKey, now: number): CheckedKey {
  if (caller.kind === 'actor') throw new SvcError('forbidden', 'Actors cannot have API keys.');
  const name = checkedName(request.name);
  const seconds = checkedExpiry(request.expiresInSeconds ?? DEFAULT_EXPIRY_SECONDS);
  const expiresAt = Math.min(now + seconds * 1_000, caller.key?.expiresAt ?? Number.POSITIVE_INFINITY);
  return { name, scopes: checkedScopes(caller, request.scopes), expiresAt };
}

function checkedName(name: string): string {
  if (name.trim() !== '' && name.length <= MAX_NAME_CHARS && !CONTROL.test(name)) return name.trim();
  throw invalidField('name', `expected 1 to ${MAX_NAME_CHARS} characters, none of them a control character`);
}

function checkedExpiry(seconds: number): number {
  if (Number.isSafeInteger(seconds) && seconds >= MIN_EXPIRY_SECONDS && seconds <= MAX_EXPIRY_SECONDS) return seconds;
  throw invalidField(
    'expires_in',
    `expected whole seconds from ${MIN_EXPIRY_SECONDS} to ${MAX_EXPIRY_SECONDS} (366 days)`,
  );
}

function checkedScopes({ key }: Caller, asked: readonly string[] | undefined): readonly string[] {
  if (asked?.length === 0 || (asked?.length ?? 0) > MOST_SCOPES) {
    throw invalidField('scopes', `expected 1 to ${MOST_SCOPES} scopes`);
  }
  for (const scope of asked ?? []) {
    if (!SCOPES.includes(scope)) throw invalidField('scopes', `expected scopes of ${SCOPES.join(', ')}, got ${scope}`);
  }
  if (key === undefined) return [...new Set(asked ?? ['*'])];
  if (!makesKeys(key.scopes))
    throw new SvcError('forbidden', 'This API key cannot create keys: it lacks scope keys:write.');
  const scopes = [...new Set(asked ?? key.scopes.filter((scope) => !makesKeys([scope])))];
  if (scopes.length === 0) throw invalidField('scopes', 'expected at least one');
  if (makesKeys(scopes)) throw new SvcError('forbidden', 'A key created by an API key cannot have scope keys:write.');
  const wider = scopes.find((scope) => !isWithin(scope, key.scopes));
  if (wider === undefined) return scopes;
  throw new SvcError('forbidden', `This API key cannot grant scope ${wider}, which it does not have.`);
}
