import type { Page, PageAsked } from '../../runtime/documents/pages.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Action } from '../tenant.ts';

/** Limits that an API key puts on its owner's rights. */
export interface KeyGrant {
  readonly id: string;
  readonly scopes: readonly string[];
  /** Unix ms. */
  readonly expiresAt: number;
}

/** The caller; `key` is set when it used an API key. */
export type Caller = Identity & { readonly key?: KeyGrant };

/** A key as shown, without its text. Times are ISO 8601. */
export interface ApiKeyView {
  readonly id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly owner: { readonly kind: Identity['kind']; readonly subject: string; readonly tier: Identity['tier'] };
  readonly scopes: string[];
  readonly status: 'active' | 'expired' | 'revoked';
  /** Id of the key that created it, with which it ends. */
  readonly made_by_key: string | null;
  readonly created_at: string;
  readonly expires_at: string;
  /** To the minute. */
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
}

export interface NewApiKey {
  readonly name: string;
  /** From `SCOPES`; default `*`, or the scopes of the calling key. */
  readonly scopes?: readonly string[] | undefined;
  /** Seconds from now; default 90 days, at most 366. */
  readonly expiresInSeconds?: number | undefined;
}

/**
 * API keys (H29). A key acts as the user who created it, with the rights at that time, within its scopes. Keys of other tenants
 * and users are reported as not found.
 */
export interface ApiKeys {
  /**
   * The only answer that contains the key. Throws `invalid_argument`, `forbidden` for scopes that the caller lacks,
   * `limit_reached` when the owner has 50 active keys.
   */
  create(caller: Caller, request: NewApiKey): Promise<ApiKeyView & { readonly key: string }>;
  /** Keys of the caller, newest first; with `everybody` those of the tenant, for administrators. Throws `forbidden`. */
  list(identity: Identity, page: PageAsked & { readonly everybody: boolean }): Promise<Page<ApiKeyView>>;
  /** Throws `not_found`. */
  get(identity: Identity, id: string): Promise<ApiKeyView>;
  /** Idempotent. All nodes refuse the key, and keys that it created, within a second. Throws `not_found`. */
  revoke(identity: Identity, id: string): Promise<ApiKeyView>;
  /** The active key of the caller's tenant with this text; null for everything else. */
  validate(identity: Identity, text: string): Promise<ApiKeyView | null>;
}

/** Finds the owner of a presented key. */
export interface KeyVerifier {
  /**
   * Throws `unauthenticated` unless the text is an active key, `unavailable` when the store cannot be read. With
   * `authenticationRequired`, keys of the local operator are refused.
   */
  verify(text: string, authenticationRequired: boolean): Promise<Caller>;
}

/** Areas of the API; each route and method belongs to one. */
const SCOPE_AREAS = [
  'agents',
  'approvals',
  'audit',
  'cluster',
  'executions',
  'keys',
  'limits',
  'patterns',
  'secrets',
  'stimuli',
  'system',
  'tools',
  'volumes',
  'workflows',
] as const;

export type ScopeArea = (typeof SCOPE_AREAS)[number];

/** Such as `executions:write`. Tools have `call` instead of `write`. */
type Scope = `${ScopeArea}:${'read' | 'write' | 'call'}`;

/** All scopes of keys. `*` is everything except `keys:write`, which must be given explicitly. */
export const SCOPES: readonly string[] = [
  '*',
  ...SCOPE_AREAS.flatMap((area) => [`${area}:*`, `${area}:read`, area === 'tools' ? 'tools:call' : `${area}:write`]),
];

const MAKES_KEYS = 'keys:write';

/** Whether the granted scopes include the scope. */
export function holds(granted: readonly string[], scope: string): boolean {
  if (granted.includes(scope) || granted.includes(`${scope.slice(0, scope.indexOf(':'))}:*`)) return true;
  return granted.includes('*') && scope !== MAKES_KEYS;
}

/** The scopes without wildcards that granted ones include; null: a caller without a key, which has all. */
export const heldScopes = (granted: readonly string[] | null): readonly string[] =>
  SCOPES.filter((scope) => !scope.endsWith('*') && (granted === null || holds(granted, scope)));

/** Whether `granted` permits every call that `asked` permits. */
export function isWithin(asked: string, granted: readonly string[]): boolean {
  if (granted.includes(asked)) return true;
  if (asked === '*') return false;
  if (!asked.endsWith(':*')) return holds(granted, asked);
  const ofArea = SCOPES.filter((one) => one.startsWith(asked.slice(0, -1)) && one !== asked);
  return ofArea.every((one) => holds(granted, one));
}

/** Whether the scopes permit creating keys. */
export const makesKeys = (scopes: readonly string[]): boolean => holds(scopes, MAKES_KEYS);

/** The scope that an action in an area needs. Starting an agent or a workflow belongs to area `executions`. */
export function scopeOf(area: ScopeArea, action: Action): Scope {
  const looks = action === 'read' || action === 'audit' || action === 'inspect';
  if (area === 'tools') return looks ? 'tools:read' : 'tools:call';
  return `${area}:${looks ? 'read' : 'write'}`;
}

/**
 * Splits a caller into identity and key grant; messages carry the identity only. Throws `forbidden` when its key lacks the scope
 * for this action in this area; area `undefined` needs scope `*`.
 */
export function requireScope(
  caller: Caller,
  area: ScopeArea | undefined,
  action: Action,
): { readonly identity: Identity; readonly key: KeyGrant | null } {
  const { key = null, ...identity } = caller;
  const scope = area === undefined ? '*' : scopeOf(area, action);
  if (key === null || holds(key.scopes, scope)) return { identity, key };
  throw new SvcError('forbidden', `The API key lacks scope ${scope}.`);
}
