import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { ApiKeyView } from './api.ts';

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
