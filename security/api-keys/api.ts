import type { Page, PageAsked } from '../../runtime/documents/pages.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Action } from '../tenant.ts';

/** What an API key narrows its owner to. */
export interface KeyGrant {
  readonly id: string;
  readonly scopes: readonly string[];
  /** Unix ms. */
  readonly expiresAt: number;
}

/** Who asks; with a grant, by an API key. */
export type Caller = Identity & { readonly key?: KeyGrant };

/** A key as it is shown: never the key itself. Times are ISO 8601. */
export interface ApiKeyView {
  readonly id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly owner: { readonly kind: Identity['kind']; readonly subject: string; readonly tier: Identity['tier'] };
  readonly scopes: string[];
  readonly status: 'active' | 'expired' | 'revoked';
  /** Id of the key that made it; it ends with that. */
  readonly made_by_key: string | null;
  readonly created_at: string;
  readonly expires_at: string;
  /** Within a minute. */
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
}

export interface NewApiKey {
  readonly name: string;
  /** Of `SCOPES`; default `*`, or those of the key that makes it. */
  readonly scopes?: readonly string[] | undefined;
  /** Seconds from now; default 90 days, at most 366. */
  readonly expiresInSeconds?: number | undefined;
}

/**
 * API keys beside the identity provider (H29). A key acts as whoever made it, with the rights of that
 * moment and only within its scopes. Another tenant's key, and another user's, answers as one that never was.
 */
export interface ApiKeys {
  /**
   * The only answer that holds the key. Throws `invalid_argument`, `forbidden` for scopes the caller does not have itself,
   * `limit_reached` when the owner has 50 live ones.
   */
  create(caller: Caller, request: NewApiKey): Promise<ApiKeyView & { readonly key: string }>;
  /** The caller's, the newest first; of everybody in the tenant for who administers it. Throws `forbidden`. */
  list(identity: Identity, page: PageAsked & { readonly everybody: boolean }): Promise<Page<ApiKeyView>>;
  /** Throws `not_found`. */
  get(identity: Identity, id: string): Promise<ApiKeyView>;
  /** Refused everywhere within a second, and what it made with it. Again: the same answer. Throws `not_found`. */
  revoke(identity: Identity, id: string): Promise<ApiKeyView>;
  /** Whether a text is a live key of the caller's tenant; null for everything else. */
  validate(identity: Identity, text: string): Promise<ApiKeyView | null>;
}

/** Turns a presented key into its owner. */
export interface KeyVerifier {
  /**
   * Throws `unauthenticated` for whatever is no live key, `unavailable` when nobody can say. `authenticationRequired`:
   * keys of the local operator hold only where everybody is one.
   */
  verify(text: string, authenticationRequired: boolean): Promise<Caller>;
}

/** What a scope speaks about; each route and method belongs to one. */
const SCOPE_AREAS = [
  'agents',
  'approvals',
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

/** `executions:write`. `call` is of tools alone, where nothing is written. */
type Scope = `${ScopeArea}:${'read' | 'write' | 'call'}`;

/** All a key may be given. `*` is everything but making and revoking keys, which must be said: `keys:write`. */
export const SCOPES: readonly string[] = [
  '*',
  ...SCOPE_AREAS.flatMap((area) => [`${area}:*`, `${area}:read`, area === 'tools' ? 'tools:call' : `${area}:write`]),
];

const MAKES_KEYS = 'keys:write';

/** Whether what was granted holds the scope; what nobody granted is denied. */
export function holds(granted: readonly string[], scope: string): boolean {
  if (granted.includes(scope) || granted.includes(`${scope.slice(0, scope.indexOf(':'))}:*`)) return true;
  return granted.includes('*') && scope !== MAKES_KEYS;
}

/** Whether every call that `asked` admits, `granted` admits as well. */
export function isWithin(asked: string, granted: readonly string[]): boolean {
  if (granted.includes(asked)) return true;
  if (asked === '*') return false;
  if (!asked.endsWith(':*')) return holds(granted, asked);
  const ofArea = SCOPES.filter((one) => one.startsWith(asked.slice(0, -1)) && one !== asked);
  return ofArea.every((one) => holds(granted, one));
}

/** Whether one of them lets a key make others. */
export const makesKeys = (scopes: readonly string[]): boolean => holds(scopes, MAKES_KEYS);

/** The scope that an action in an area needs. Starting something of an agent or a workflow is a matter of executions. */
export function scopeOf(area: ScopeArea, action: Action): Scope {
  const looks = action === 'read' || action === 'inspect';
  if (area === 'tools') return looks ? 'tools:read' : 'tools:call';
  return `${area}:${looks ? 'read' : 'write'}`;
}

/**
 * Who calls without the key, which is no matter of messages, and the key's grant. Throws `forbidden` when the caller came
 * by a key that lacks the scope for this action in this area; `undefined`: an area that only `*` reaches.
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
