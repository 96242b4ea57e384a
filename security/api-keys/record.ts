import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { type ApiKeyView, type Caller, isWithin, makesKeys, type NewApiKey, SCOPES } from './api.ts';

/** Keys by (tenant, id). Dead ones stay a while, so that it can be seen who made and revoked them. */
export const API_KEYS: CollectionSpec = {
  name: 'api_keys',
  unique: [],
  indexes: [['owner_subject', 'created_at'], ['created_at']],
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
  /** The key that made it, without which it is worth nothing; null: a person or client by itself. */
  readonly parent: string | null;
  /** ISO 8601, as all times here. */
  readonly created_at: string;
  readonly expires_at: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
}

/** Which key a digest belongs to. A caller's tenant is not known before its key is, so these are the node's own. */
export const API_KEY_DIGESTS: CollectionSpec = { name: 'api_key_digests', unique: [], indexes: [] };

/** `id` is the digest, the tenant `svc-system`. */
export interface ApiKeyDigest extends StoredDocument {
  readonly key_tenant: string;
  readonly key_id: string;
}

/** What is wrong with a key now, or null. */
export function deathOf(key: ApiKeyDocument, now: number): 'revoked' | 'expired' | null {
  if (key.revoked_at !== null) return 'revoked';
  return Date.parse(key.expires_at) <= now ? 'expired' : null;
}

/** Who a key acts as. */
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

/** What every API key begins with: scanners for leaked secrets look for it. */
const KEY_PREFIX = 'svc_';

const SECRET_BYTES = 32;

const SECRET_CHARS = 43;

const FORM = /^svc_[A-Za-z0-9_-]{49}$/;

/** A new key: `svc_`, 32 random bytes and a checksum, as base64url; 53 characters. */
export function makeKeyText(random: (bytes: number) => Uint8Array = randomBytes): string {
  const secret = Buffer.from(random(SECRET_BYTES)).toString('base64url');
  return `${KEY_PREFIX}${secret}${checksumOf(secret)}`;
}

/** Whether a bearer token wants to be an API key, well formed or not. */
export const looksLikeKey = (token: string): boolean => token.startsWith(KEY_PREFIX);

/** Well formed, with the checksum of its own secret: what was cut or mistyped costs no look into the store. */
export function isKeyText(text: string): boolean {
  if (!FORM.test(text)) return false;
  const secret = text.slice(KEY_PREFIX.length, KEY_PREFIX.length + SECRET_CHARS);
  return sameText(text.slice(KEY_PREFIX.length + SECRET_CHARS), checksumOf(secret));
}

/** What is stored of a key. It holds 256 random bits, so a plain SHA-256 cannot be guessed back. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Compares in a time that does not depend on where two texts of one length differ. */
export function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function checksumOf(secret: string): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(secret));
  return sum.toString('base64url');
}

/** Live keys that one owner may have. */
export const MOST_LIVE_KEYS = 50;

const MOST_SCOPES = 32;

const MAX_NAME_CHARS = 100;

const MIN_EXPIRY_SECONDS = 60;

const MAX_EXPIRY_SECONDS = 366 * 86_400;

const DEFAULT_EXPIRY_SECONDS = 90 * 86_400;

const CONTROL = /\p{Cc}/u;

/** A request that keeps to the rules, with its defaults. */
interface CheckedKey {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Unix ms. */
  readonly expiresAt: number;
}

/**
 * Throws `invalid_argument` naming the field; `forbidden` for an actor, a key without `keys:write`, and scopes that the
 * key which asks does not have. A key made by a key makes no further ones and ends no later.
 */
export function checkNewKey(caller: Caller, request: NewApiKey, now: number): CheckedKey {
  if (caller.kind === 'actor') throw new SvcError('forbidden', 'An actor has no API keys.');
  const name = checkedName(request.name);
  const seconds = checkedExpiry(request.expiresInSeconds ?? DEFAULT_EXPIRY_SECONDS);
  const expiresAt = Math.min(now + seconds * 1_000, caller.key?.expiresAt ?? Number.POSITIVE_INFINITY);
  return { name, scopes: checkedScopes(caller, request.scopes), expiresAt };
}

function checkedName(name: string): string {
  if (name.trim() !== '' && name.length <= MAX_NAME_CHARS && !CONTROL.test(name)) return name.trim();
  throw wrong('name', `expected 1 to ${MAX_NAME_CHARS} characters, none of them a control character`);
}

function checkedExpiry(seconds: number): number {
  if (Number.isSafeInteger(seconds) && seconds >= MIN_EXPIRY_SECONDS && seconds <= MAX_EXPIRY_SECONDS) return seconds;
  throw wrong('expires_in', `expected whole seconds from ${MIN_EXPIRY_SECONDS} to ${MAX_EXPIRY_SECONDS} (366 days)`);
}

function checkedScopes({ key }: Caller, asked: readonly string[] | undefined): readonly string[] {
  if (asked?.length === 0 || (asked?.length ?? 0) > MOST_SCOPES) {
    throw wrong('scopes', `expected 1 to ${MOST_SCOPES} of them`);
  }
  for (const scope of asked ?? []) {
    if (!SCOPES.includes(scope)) throw wrong('scopes', `expected some of ${SCOPES.join(', ')}`);
  }
  if (key === undefined) return [...new Set(asked ?? ['*'])];
  if (!makesKeys(key.scopes)) throw new SvcError('forbidden', 'This API key makes no keys: it lacks scope keys:write.');
  const scopes = [...new Set(asked ?? key.scopes.filter((scope) => !makesKeys([scope])))];
  if (scopes.length === 0) throw wrong('scopes', 'expected at least one');
  if (makesKeys(scopes)) throw new SvcError('forbidden', 'A key made by an API key makes no further keys.');
  const wider = scopes.find((scope) => !isWithin(scope, key.scopes));
  if (wider === undefined) return scopes;
  throw new SvcError('forbidden', `The API key has no scope ${wider} to give away.`);
}

const wrong = (field: string, expected: string): SvcError =>
  new SvcError('invalid_argument', `${field}: ${expected}`, { field });
