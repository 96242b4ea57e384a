import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportSPKI, importJWK, type JWTPayload } from 'jose';
import { ERRORS, SvcError } from '../../runtime/errors.ts';
import { createAuthenticator } from '../../security/authenticator.ts';
import type { AuthenticatorSettings, RealmSettings } from '../../security/settings.ts';
import { IdentityProvider, ManualClock, type SigningKey, sign, signingKey } from './identity-provider.ts';

const ISSUER = 'https://idp.example/realms/svc-system';
const AUDIENCE = 'svc-api';

const realm = (provider: IdentityProvider, changed: Partial<RealmSettings> = {}): RealmSettings => ({
  slug: 'svc-system',
  issuerUrl: ISSUER,
  jwksUri: provider.jwksUri,
  audience: AUDIENCE,
  kind: 'system',
  ...changed,
});

async function scene(changed: Partial<AuthenticatorSettings> = {}, alg = 'ES256') {
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

const refusedAs = (code: keyof typeof ERRORS) => (error: unknown) => {
  assert.ok(error instanceof SvcError, String(error));
  assert.equal(error.code, code);
  if (code === 'unauthenticated') assert.equal(error.message, ERRORS.unauthenticated.message);
  return true;
};

describe('authenticator', () => {
  it('without an identity provider makes every call the local operator in svc-system', async () => {
    await using authenticator = createAuthenticator({ realms: [] });
    assert.equal(authenticator.required, false);
    const identity = await authenticator.authenticate({ authorization: 'Bearer nonsense', tenantHeader: 'acme' });
    assert.deepEqual(identity, {
      kind: 'local',
      subject: 'local-operator',
      tenant: 'svc-system',
      roles: ['svc:admin'],
      tier: 'enterprise',
    });
  });

  for (const alg of ['RS256', 'ES256', 'EdDSA']) {
    it(`accepts a token signed with ${alg}`, async () => {
      await using at = await scene({}, alg);
      assert.equal((await at.authenticate()).subject, 'ada');
    });
  }

  it('takes the keys from the cache, and asks again after the time to live', async () => {
    await using at = await scene();
    await at.authenticate();
    await at.authenticate();
    assert.equal(at.provider.fetches, 1);
    at.clock.advance(300_000);
    await at.authenticate();
    assert.equal(at.provider.fetches, 2);
  });

  it('serves a rotated key without a restart, and not the one that was taken away', async () => {
    await using at = await scene();
    await at.authenticate();
    const next = await signingKey('k2');
    at.provider.keys = [next];
    at.clock.advance(10_000);
    assert.equal((await at.authenticate({}, next)).subject, 'ada');
    await assert.rejects(at.authenticate({}, at.key), refusedAs('unauthenticated'));
  });

  it('asks the provider at most once per cool-down for kids nobody knows', async () => {
    await using at = await scene();
    await at.authenticate();
    const stranger = await signingKey('stranger');
    await assert.rejects(at.authenticate({}, stranger), refusedAs('unauthenticated'));
    at.clock.advance(10_000);
    await Promise.all(
      Array.from({ length: 20 }, () => assert.rejects(at.authenticate({}, stranger), refusedAs('unauthenticated'))),
    );
    assert.equal(at.provider.fetches, 2);
  });

  it('goes on with the last keys while the provider is down, up to the stale limit', async () => {
    await using at = await scene();
    await at.authenticate();
    at.provider.status = 500;
    at.clock.advance(3_599_000);
    assert.equal((await at.authenticate()).subject, 'ada');
    at.clock.advance(2_000);
    await assert.rejects(at.authenticate(), refusedAs('unavailable'));
  });

  it('says unavailable, not unauthenticated, when the provider was never reached, and recovers', async () => {
    await using at = await scene();
    at.provider.status = 503;
    await assert.rejects(at.authenticate(), refusedAs('unavailable'));
    at.provider.status = 200;
    at.clock.advance(10_000);
    assert.equal((await at.authenticate()).subject, 'ada');
  });

  it('says unavailable for an unknown kid while the provider is down', async () => {
    await using at = await scene();
    await at.authenticate();
    at.provider.status = 500;
    at.clock.advance(10_000);
    await assert.rejects(at.authenticate({}, await signingKey('new')), refusedAs('unavailable'));
    assert.equal((await at.authenticate()).subject, 'ada');
  });

  it('gives up on a provider that does not answer in time', async () => {
    const { createServer } = await import('node:net');
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const address = silent.address();
    assert.ok(address !== null && typeof address === 'object');
    try {
      const at = await scene();
      await using authenticator = createAuthenticator({
        realms: [realm(at.provider, { jwksUri: `http://127.0.0.1:${address.port}/` })],
        requestTimeoutMs: 100,
      });
      const token = await sign(at.key, at.claims());
      await assert.rejects(
        authenticator.authenticate({ authorization: `Bearer ${token}`, tenantHeader: undefined }),
        refusedAs('unavailable'),
      );
      await at[Symbol.asyncDispose]();
    } finally {
      silent.close();
    }
  });
});

describe('bad tokens', () => {
  const nowS = () => Math.floor(Date.now() / 1000);
  const bad: Record<string, JWTPayload> = {
    'expired beyond the clock skew': { exp: nowS() - 120 },
    'not valid yet': { nbf: nowS() + 120 },
    'for another audience': { aud: 'somebody-else' },
    'without audience': { aud: undefined },
    'without expiry': { exp: undefined },
    'without subject': { sub: undefined },
    'of an issuer nobody configured': { iss: 'https://evil.example' },
    'without issuer': { iss: undefined },
  };
  for (const [title, claims] of Object.entries(bad)) {
    it(`a token ${title} is refused`, async () => {
      await using at = await scene();
      await assert.rejects(at.authenticate(claims), refusedAs('unauthenticated'));
    });
  }

  it('a token within the clock skew is accepted', async () => {
    await using at = await scene();
    const nowSeconds = Math.floor(at.clock.now() / 1000);
    assert.equal((await at.authenticate({ exp: nowSeconds - 20 })).subject, 'ada');
    assert.equal((await at.authenticate({ nbf: nowSeconds + 20 })).subject, 'ada');
  });

  it('a token without kid is refused', async () => {
    await using at = await scene();
    await assert.rejects(at.call(await sign(at.key, at.claims(), {})), refusedAs('unauthenticated'));
  });

  it('a token signed by another key under a known kid is refused', async () => {
    await using at = await scene();
    await assert.rejects(at.authenticate({}, await signingKey('k1')), refusedAs('unauthenticated'));
  });

  it('an unsigned token (alg none) is refused', async () => {
    await using at = await scene();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'none', kid: 'k1' })}.${part(at.claims())}.`;
    await assert.rejects(at.call(token), refusedAs('unauthenticated'));
  });

  it('a public key used as an HMAC secret (HS256 confusion) is refused', async () => {
    await using at = await scene({}, 'RS256');
    const publicKey = await importJWK({ ...at.key.publicJwk, ext: true }, 'RS256', { extractable: true });
    assert.ok(!(publicKey instanceof Uint8Array));
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${part({ alg: 'HS256', kid: 'k1' })}.${part(at.claims())}`;
    const signature = createHmac('sha256', await exportSPKI(publicKey))
      .update(signed)
      .digest('base64url');
    await assert.rejects(at.call(`${signed}.${signature}`), refusedAs('unauthenticated'));
  });

  for (const authorization of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Basic YTpi',
    'Bearer a.b.c',
    'Bearer é',
    'x'.repeat(99),
  ]) {
    it(`the header ${JSON.stringify(authorization)?.slice(0, 20)} is refused`, async () => {
      await using at = await scene();
      await using authenticator = createAuthenticator({ realms: [realm(at.provider)] });
      await assert.rejects(
        authenticator.authenticate({ authorization, tenantHeader: undefined }),
        refusedAs('unauthenticated'),
      );
    });
  }
});

describe('realms', () => {
  it('each realm is verified with its own keys', async () => {
    await using system = await scene();
    await using other = await scene();
    await using authenticator = createAuthenticator(
      {
        realms: [
          realm(system.provider),
          realm(other.provider, { slug: 'acme', issuerUrl: 'https://idp.example/acme', kind: 'tenant' }),
        ],
      },
      system.clock,
    );
    const call = (token: string) =>
      authenticator.authenticate({ authorization: `Bearer ${token}`, tenantHeader: undefined });
    const acme = { iss: 'https://idp.example/acme' };
    const user = await call(await sign(other.key, system.claims({ ...acme, tenant_id: 'victim' })));
    assert.deepEqual([user.kind, user.tenant], ['tenant_user', 'acme']);
    await assert.rejects(call(await sign(other.key, system.claims())), refusedAs('unauthenticated'));
    await assert.rejects(call(await sign(system.key, system.claims(acme))), refusedAs('unauthenticated'));
  });

  it('two realms with one issuer are refused at start', async () => {
    await using at = await scene();
    assert.throws(
      () => createAuthenticator({ realms: [realm(at.provider), realm(at.provider, { slug: 'two' })] }),
      refusedAs('invalid_config'),
    );
  });
});
