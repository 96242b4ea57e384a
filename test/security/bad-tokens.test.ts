import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportSPKI, importJWK, type JWTPayload } from 'jose';
import { createAuthenticator } from '../../security/authenticator.ts';
import { sign, signingKey } from './identity-provider.ts';
import { realm, realmAuthenticator, refusedAs } from './realm-authenticator.ts';

describe('bad tokens', () => {
  const nowS = () => Math.floor(Date.now() / 1000);
  const bad: Record<string, JWTPayload> = {
    'expired beyond the clock skew': { exp: nowS() - 120 },
    'not valid yet': { nbf: nowS() + 120 },
    'for another audience': { aud: 'another-service' },
    'without audience': { aud: undefined },
    'without expiry': { exp: undefined },
    'without subject': { sub: undefined },
    'of an issuer that is not configured': { iss: 'https://evil.example' },
    'without issuer': { iss: undefined },
  };
  for (const [title, claims] of Object.entries(bad)) {
    it(`a token ${title} is refused`, async () => {
      await using at = await realmAuthenticator();
      await assert.rejects(at.authenticate(claims), refusedAs('unauthenticated'));
    });
  }

  it('a token within the clock skew is accepted', async () => {
    await using at = await realmAuthenticator();
    const nowSeconds = Math.floor(at.clock.now() / 1000);
    assert.equal((await at.authenticate({ exp: nowSeconds - 20 })).subject, 'ada');
    assert.equal((await at.authenticate({ nbf: nowSeconds + 20 })).subject, 'ada');
  });

  it('a token without kid is refused', async () => {
    await using at = await realmAuthenticator();
    await assert.rejects(at.call(await sign(at.key, at.claims(), {})), refusedAs('unauthenticated'));
  });

  it('a token signed by another key under a known kid is refused', async () => {
    await using at = await realmAuthenticator();
    await assert.rejects(at.authenticate({}, await signingKey('k1')), refusedAs('unauthenticated'));
  });

  it('an unsigned token (alg none) is refused', async () => {
    await using at = await realmAuthenticator();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'none', kid: 'k1' })}.${part(at.claims())}.`;
    await assert.rejects(at.call(token), refusedAs('unauthenticated'));
  });

  it('a public key used as an HMAC secret (HS256 confusion) is refused', async () => {
    await using at = await realmAuthenticator({}, 'RS256');
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
      await using at = await realmAuthenticator();
      await using authenticator = createAuthenticator({ realms: [realm(at.provider)] });
      await assert.rejects(
        authenticator.authenticate({ authorization, tenantHeader: undefined }),
        refusedAs('unauthenticated'),
      );
    });
  }
});
