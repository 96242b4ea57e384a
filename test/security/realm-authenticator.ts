import assert from 'node:assert/strict';
import type { JWTPayload } from 'jose';
import { ERRORS, SvcError } from '../../runtime/errors.ts';
import { createAuthenticator } from '../../security/authenticator.ts';
import type { AuthenticatorSettings, RealmSettings } from '../../security/settings.ts';
import { IdentityProvider, ManualClock, type SigningKey, sign, signingKey } from './identity-provider.ts';

const ISSUER = 'https://idp.example/realms/svc-system';
const AUDIENCE = 'svc-api';

export const realm = (provider: IdentityProvider, changed: Partial<RealmSettings> = {}): RealmSettings => ({
  slug: 'svc-system',
  issuerUrl: ISSUER,
  jwksUri: provider.jwksUri,
  audience: AUDIENCE,
  kind: 'system',
  ...changed,
});

export async function realmAuthenticator(changed: Partial<AuthenticatorSettings> = {}, alg = 'ES256') {
  const provider = new IdentityProvider();
  await provider.listen();
  const key = await signingKey('k1', alg);
  provider.keys = [key];
  const clock = new ManualClock();
  const authenticator = createAuthenticator({ realms: [realm(provider)], ...changed }, clock);
  const claims = (extra: JWTPayload = {}): JWTPayload => ({
    iss: ISSUER,
    aud: AUDIENCE,
    sub: 'ada',
    exp: Math.floor(clock.now() / 1000) + 600,
    svc_role: 'svc:operator',
    ...extra,
  });
  const call = (token: string, tenantHeader?: string) =>
    authenticator.authenticate({ authorization: `Bearer ${token}`, tenantHeader });
  return {
    provider,
    key,
    clock,
    claims,
    call,
    authenticate: async (extra: JWTPayload = {}, by: SigningKey = key, tenantHeader?: string) =>
      call(await sign(by, claims(extra)), tenantHeader),
    async [Symbol.asyncDispose]() {
      await authenticator.close();
      await provider.stop();
    },
  };
}

export const refusedAs = (code: keyof typeof ERRORS) => (error: unknown) => {
  assert.ok(error instanceof SvcError, String(error));
  assert.equal(error.code, code);
  if (code === 'unauthenticated') assert.equal(error.message, ERRORS.unauthenticated.message);
  return true;
};
