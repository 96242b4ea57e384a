import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAuthenticator } from '../../security/authenticator.ts';
import { sign, signingKey } from './identity-provider.ts';
import { realm, realmAuthenticator, refusedAs } from './realm-authenticator.ts';

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
      await using at = await realmAuthenticator({}, alg);
      assert.equal((await at.authenticate()).subject, 'ada');
    });
  }

  it('takes the keys from the cache, and asks again after the time to live', async () => {
    await using at = await realmAuthenticator();
    await at.authenticate();
    await at.authenticate();
    assert.equal(at.provider.fetches, 1);
    at.clock.advance(300_000);
    await at.authenticate();
    assert.equal(at.provider.fetches, 2);
  });

  it('accepts tokens of a rotated key without a restart, and none of the key that was removed', async () => {
    await using at = await realmAuthenticator();
    await at.authenticate();
    const next = await signingKey('k2');
    at.provider.keys = [next];
    at.clock.advance(10_000);
    assert.equal((await at.authenticate({}, next)).subject, 'ada');
    await assert.rejects(at.authenticate({}, at.key), refusedAs('unauthenticated'));
  });

  it('asks the provider at most once per cool-down for unknown kids', async () => {
    await using at = await realmAuthenticator();
    await at.authenticate();
    const stranger = await signingKey('stranger');
    await assert.rejects(at.authenticate({}, stranger), refusedAs('unauthenticated'));
    at.clock.advance(10_000);
    await Promise.all(
      Array.from({ length: 20 }, () => assert.rejects(at.authenticate({}, stranger), refusedAs('unauthenticated'))),
    );
    assert.equal(at.provider.fetches, 2);
  });

  it('authentication goes on with the last keys while the provider is down, up to the stale limit', async () => {
    await using at = await realmAuthenticator();
    await at.authenticate();
    at.provider.status = 500;
    at.clock.advance(3_599_000);
    assert.equal((await at.authenticate()).subject, 'ada');
    at.clock.advance(2_000);
    await assert.rejects(at.authenticate(), refusedAs('unavailable'));
  });

  it('fails as unavailable, not unauthenticated, when the provider was never reached, and recovers', async () => {
    await using at = await realmAuthenticator();
    at.provider.status = 503;
    await assert.rejects(at.authenticate(), refusedAs('unavailable'));
    at.provider.status = 200;
    at.clock.advance(10_000);
    assert.equal((await at.authenticate()).subject, 'ada');
  });

  it('fails as unavailable for an unknown kid while the provider is down', async () => {
    await using at = await realmAuthenticator();
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
      const at = await realmAuthenticator();
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

describe('realms', () => {
  it('each realm is verified with its own keys', async () => {
    await using system = await realmAuthenticator();
    await using other = await realmAuthenticator();
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
    await using at = await realmAuthenticator();
    assert.throws(
      () => createAuthenticator({ realms: [realm(at.provider), realm(at.provider, { slug: 'two' })] }),
      refusedAs('invalid_config'),
    );
  });

  it('two realms with one slug are refused at start', async () => {
    await using at = await realmAuthenticator();
    assert.throws(
      () => createAuthenticator({ realms: [realm(at.provider), realm(at.provider, { issuerUrl: 'https://two' })] }),
      refusedAs('invalid_config'),
    );
  });
});
