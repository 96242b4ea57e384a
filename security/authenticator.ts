import { jose } from '../manifests/late-libraries.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';
import type { Authenticator, Credentials } from './api.ts';
import type { Caller, KeyVerifier } from './api-keys/api.ts';
import { looksLikeKey } from './api-keys/record.ts';
import { type AmongRealms, amongRealms, identityOf, UnusableClaim } from './claims.ts';
import { isSameSecret } from './constant-time.ts';
import { KeySet } from './key-set.ts';
import { type AuthenticatorSettings, CLAIM_NAMES, checkRealms } from './settings.ts';
import { bearerToken, type Realm, verifyToken } from './signed-token.ts';
import { ADMIN_ROLE } from './tenant.ts';

const LOCAL_OPERATOR: Identity = {
  kind: 'local',
  subject: 'local-operator',
  tenant: SYSTEM_TENANT,
  roles: [ADMIN_ROLE],
  tier: 'enterprise',
};

/** One authenticator of a node; `close` ends its connections to identity providers. */
type ClosableAuthenticator = Authenticator & AsyncDisposable & { close(): Promise<void> };

/**
 * The authenticator of a node. With realms a call needs a verified token or an active API key. Without realms a call acts as the
 * local operator (S2), with `localToken` only when it sends that token; an API key is checked all the same. Throws
 * `invalid_config` for invalid realms. Without `keys` there are no API keys.
 */
export function createAuthenticator(
  settings: AuthenticatorSettings,
  clock: Clock = systemClock,
  keys?: KeyVerifier,
): ClosableAuthenticator {
  checkRealms(settings.realms);
  const realms = openRealms(settings, clock);
  const among = amongRealms(settings.realms);
  const close = async () => {
    await Promise.all([...realms.values()].map((realm) => realm.keys.close()));
  };
  const { localToken } = settings;
  const required = realms.size > 0 || localToken !== undefined;
  const authenticate = async (credentials: Credentials): Promise<Caller> => {
    const token = bearerToken(credentials.authorization);
    if (token !== undefined && looksLikeKey(token)) return verifyKey(keys, token, realms.size > 0);
    if (realms.size > 0) return authenticateToken(credentials, token, { realms, among, settings, clock });
    if (localToken === undefined || (token !== undefined && isSameSecret(token, localToken))) return LOCAL_OPERATOR;
    throw new SvcError('unauthenticated', 'Send the token from the file local-token in the data directory.');
  };
  return { required, authenticate, close, [Symbol.asyncDispose]: close };
}

function openRealms(settings: AuthenticatorSettings, clock: Clock): ReadonlyMap<string, Realm> {
  const keySet = (jwksUri: string) =>
    new KeySet(
      {
        jwksUri,
        cacheTtlMs: settings.jwksCacheTtlMs ?? 300_000,
        requestTimeoutMs: settings.requestTimeoutMs ?? 8_000,
      },
      clock,
    );
  return new Map(settings.realms.map((realm) => [realm.issuerUrl, { settings: realm, keys: keySet(realm.jwksUri) }]));
}

/** A key is always checked: a call with a revoked key must not act as the local operator. */
async function verifyKey(keys: KeyVerifier | undefined, token: string, required: boolean): Promise<Caller> {
  if (keys === undefined) throw new SvcError('unauthenticated');
  return keys.verify(token, required);
}

interface TokenParts {
  readonly realms: ReadonlyMap<string, Realm>;
  readonly among: ReadonlyMap<string, AmongRealms>;
  readonly settings: AuthenticatorSettings;
  readonly clock: Clock;
}

async function authenticateToken(
  credentials: Credentials,
  token: string | undefined,
  { realms, among, settings, clock }: TokenParts,
): Promise<Identity> {
  if (token === undefined) throw new SvcError('unauthenticated');
  try {
    const { claims, realm } = await verifyToken(token, realms, clock);
    const names = { ...CLAIM_NAMES, ...settings.claims };
    return identityOf(claims, realm, names, credentials.tenantHeader, among.get(realm.issuerUrl));
  } catch (error) {
    if (error instanceof SvcError) throw error;
    // The same text for every invalid token; the log of the node has the reason.
    const badToken =
      error instanceof jose().errors.JOSEError || error instanceof UnusableClaim || error instanceof TypeError;
    throw new SvcError(badToken ? 'unauthenticated' : 'internal', undefined, { cause: error });
  }
}
