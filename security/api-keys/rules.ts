import { SvcError } from '../../runtime/errors.ts';
import type { Caller, NewApiKey } from './api.ts';
import { isWithin, makesKeys, SCOPES } from './scopes.ts';

/** Live keys that one owner may have. */
export const MOST_LIVE_KEYS = 50;
const MOST_SCOPES = 32;
export const MAX_NAME_CHARS = 100;
const MIN_EXPIRY_SECONDS = 60;
const MAX_EXPIRY_SECONDS = 366 * 86_400;
const DEFAULT_EXPIRY_SECONDS = 90 * 86_400;

const CONTROL = /\p{Cc}/u;

/** A request that keeps to the rules, with its defaults. */
export interface CheckedKey {
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
