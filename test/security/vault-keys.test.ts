import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { calculateJwkThumbprint, decodeProtectedHeader } from 'jose';
import { SvcError } from '../../runtime/errors.ts';
import { createSigningKeys, type SigningSettings } from '../../security/keys/open-keys.ts';
import { refused } from '../support/refused.ts';
import { ManualClock } from './identity-provider.ts';
import { fleet, HOUR_MS, MINUTE_MS, nodePair } from './key-fleet.ts';
import { VaultServer } from './vault-server.ts';

const DATA = Buffer.from('header.payload');
const KEY = 'svc-node-token';
const DAY_MS = 24 * HOUR_MS;
type Vault = NonNullable<SigningSettings['vault']>;

async function setup(by: 'token' | 'approle' = 'token') {
  const clock = new ManualClock();
  const server = new VaultServer(clock);
  await server.listen();
  const warnings: string[] = [];
  const secrets: Record<string, string> = { 'env:TOKEN': server.fixedToken, 'env:SECRET_ID': server.secretId };
  const open = (changed: Partial<Vault> = {}) =>
    createSigningKeys(
      {
        backend: 'vault',
        rotate_after_days: 90,
        vault: {
          address: server.address,
          mount: 'transit',
          key: KEY,
          ...(by === 'token'
            ? { token: 'env:TOKEN' }
            : { approle: { role_id: server.roleId, secret_id: 'env:SECRET_ID' } }),
          ...changed,
        },
      },
      {
        dataDir: '/nowhere',
        resolve: async (reference) => secrets[reference] ?? reference,
        clock,
        warn: (message) => void warnings.push(message),
      },
    );
  return { clock, server, secrets, warnings, open, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** The error of a call, checked for everything secret. */
async function failureOf(call: Promise<unknown>, secrets: readonly string[]): Promise<SvcError> {
  const error: unknown = await call.then(
    () => assert.fail('it did not fail'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SvcError, String(error));
  const shown = `${error.stack} ${inspect(error, { depth: null, showHidden: true })}`;
  for (const secret of secrets) assert.ok(!shown.includes(secret), 'an error shows a secret');
  return error;
}

describe('signing keys in a transit engine', () => {
  for (const by of ['token', 'approle'] as const) {
    it(`by ${by}: sign so that the public key of that kid verifies; the kid is its thumbprint`, async () => {
      await using at = await setup(by);
      const keys = at.open();
      await keys.open();
      const { kid, signature } = await keys.sign(DATA);
      const [jwk] = await keys.publicKeys();
      assert.ok(jwk !== undefined);
      assert.equal(jwk.kid, kid);
      assert.equal(await calculateJwkThumbprint(jwk), kid);
      assert.ok(verify('sha256', DATA, createPublicKey({ key: { ...jwk }, format: 'jwk' }), signature));
      await keys.close();
    });
  }

  it('a missing key is made as rsa-2048; one that is there is used', async () => {
    await using at = await setup();
    const keys = at.open();
    const { kid } = await keys.sign(DATA);
    assert.deepEqual(
      at.server.seen.filter(({ method }) => method === 'POST').map(({ path }) => path),
      [`transit/keys/${KEY}`, `transit/sign/${KEY}/sha2-256`],
    );
    const another = at.open();
    assert.equal((await another.sign(DATA)).kid, kid);
    await Promise.all([keys.close(), another.close()]);
  });

  it('the namespace is sent with every call, the login too', async () => {
    await using at = await setup('approle');
    at.server.namespace = 'teams/fleet';
    const keys = at.open({ namespace: 'teams/fleet' });
    await keys.sign(DATA);
    for (const { headers } of at.server.seen) assert.equal(headers['x-vault-namespace'], 'teams/fleet');
    await keys.close();
  });

  it('rotate: the new version signs, the old one counts until its last token has run out', async () => {
    await using at = await setup();
    const keys = at.open();
    const old = await keys.sign(DATA);
    await keys.rotate();
    const next = await keys.sign(DATA);
    const kids = async () => (await keys.publicKeys()).map(({ kid }) => kid);
    assert.deepEqual(await kids(), [next.kid, old.kid]);
    at.clock.advance(HOUR_MS + 11 * MINUTE_MS);
    assert.deepEqual(await kids(), [next.kid]);
    await keys.close();
  });

  it('rotate by age; where the policy refuses that, the last version stays in use, with a warning', async () => {
    await using at = await setup();
    const keys = at.open();
    const first = await keys.sign(DATA);
    at.clock.advance(91 * DAY_MS);
    const second = await keys.sign(DATA);
    assert.notEqual(second.kid, first.kid);
    at.server.mayRotate = false;
    at.clock.advance(91 * DAY_MS);
    assert.equal((await keys.sign(DATA)).kid, second.kid);
    assert.match(at.warnings.join(), /did not rotate/);
    await keys.close();
  });

  it('a rotation by another process is used from the next signature on, and node tokens name the key that signed', async () => {
    await using at = await setup();
    await using nodes = await fleet();
    const keys = at.open();
    const one = nodes.controller({ keys });
    const node = { nodeId: 'node-1', role: 'WORKER', publicKeyPem: nodePair().publicKeyPem } as const;
    const before = await one.tokens.issue(node);
    at.server.rotate(KEY);
    const after = await one.tokens.issue(node);
    assert.notEqual(decodeProtectedHeader(before.token).kid, decodeProtectedHeader(after.token).kid);
    const two = nodes.controller();
    await two.tokens.verify(before.token);
    await two.tokens.verify(after.token);
    await keys.close();
  });
});

describe('a key service that fails', () => {
  it('an expired token of the AppRole causes one login, however many calls notice it', async () => {
    await using at = await setup('approle');
    const keys = at.open();
    await keys.sign(DATA);
    assert.equal(at.server.logins, 1);
    at.server.tokens.clear();
    await Promise.all(Array.from({ length: 10 }, () => keys.sign(DATA)));
    assert.equal(at.server.logins, 2);
    await keys.close();
  });

  it('a fixed token that is refused is invalid_config; with a new value in its place it works without a restart', async () => {
    await using at = await setup();
    const keys = at.open();
    at.secrets['env:TOKEN'] = 'hvs.old-and-secret';
    const error = await failureOf(keys.open(), ['hvs.old-and-secret']);
    refused('invalid_config', /spec\.signing\.vault\.token.*403/)(error);
    at.secrets['env:TOKEN'] = at.server.fixedToken;
    await keys.sign(DATA);
    await keys.close();
  });

  it('a call is repeated after one lost connection, and unavailable after two', async () => {
    await using at = await setup();
    const keys = at.open();
    await keys.sign(DATA);
    at.server.cuts = 1;
    await keys.sign(DATA);
    at.server.cuts = 2;
    refused('unavailable', /does not answer/)(await failureOf(keys.sign(DATA), at.server.secrets));
    await keys.sign(DATA);
    await keys.close();
  });

  it('a key of another kind and a mount that is none are invalid_config', async () => {
    await using at = await setup();
    const keys = at.open({ mount: 'elsewhere' });
    refused('invalid_config', /spec\.signing\.vault\.mount/)(await failureOf(keys.open(), at.server.secrets));
    at.server.keyType = 'ecdsa-p256';
    const other = at.open();
    refused(
      'invalid_config',
      /spec\.signing\.vault\.key.*ecdsa-p256/,
    )(await failureOf(other.open(), at.server.secrets));
    await Promise.all([keys.close(), other.close()]);
  });

  it('an AppRole that is refused is unavailable', async () => {
    await using at = await setup('approle');
    at.secrets['env:SECRET_ID'] = 'wrong-but-secret';
    const keys = at.open();
    refused('unavailable', /login \(400\)/)(await failureOf(keys.open(), ['wrong-but-secret']));
    await keys.close();
  });

  const faults: Readonly<Record<string, (echo: string) => VaultServer['fault']>> = {
    'sealed (503)': (echo) => (response) => response.writeHead(503).end(JSON.stringify({ errors: [`sealed ${echo}`] })),
    'busy (429)': (echo) => (response) => response.writeHead(429).end(echo),
    'failing (500)': (echo) => (response) => response.writeHead(500).end(echo),
    'sending elsewhere (307)': (echo) => (response) =>
      response.writeHead(307, { location: `http://127.0.0.1:1/${echo}` }).end(),
    'saying no JSON': (echo) => (response) => response.writeHead(200).end(`<html>${echo}`),
    'saying cut JSON': (echo) => (response) => response.writeHead(200).end(`{"auth":{"client_token":"${echo}`),
    'saying other JSON': (echo) => (response) => response.writeHead(200).end(JSON.stringify({ data: [echo] })),
    'saying null': () => (response) => response.writeHead(200).end('null'),
    'refusing (400)': (echo) => (response) => response.writeHead(400).end(JSON.stringify({ errors: [echo] })),
    'sending without end': (echo) => (response) => response.writeHead(200).end(echo.padEnd(1_000_000, 'x')),
    'cutting its answer': (echo) => (response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write(echo, () => response.destroy());
    },
    'signing with a version it does not show': () => (response) =>
      response.writeHead(200).end(JSON.stringify({ data: { signature: 'vault:v9:AAAA', type: 'rsa-2048', keys: {} } })),
  };
  for (const [title, faultOf] of Object.entries(faults)) {
    for (const by of ['token', 'approle'] as const) {
      it(`${title}, by ${by}: a clear error without any secret`, async () => {
        await using at = await setup(by);
        const fresh = at.open();
        const open = at.open();
        await open.sign(DATA);
        // It echoes what it was sent, as badly made proxies do.
        at.server.fault = faultOf(at.server.secrets.join(' '));
        for (const call of [() => fresh.open(), () => open.sign(DATA), () => open.rotate()]) {
          const error = await failureOf(call(), at.server.secrets);
          assert.ok(['unavailable', 'invalid_config'].includes(error.code), error.message);
        }
        at.server.fault = null;
        await open.sign(DATA);
        await fresh.sign(DATA);
        await Promise.all([fresh.close(), open.close()]);
      });
    }
  }

  it('that never answers is given up after its time limit', async () => {
    await using at = await setup();
    const keys = at.open();
    await keys.sign(DATA);
    at.server.fault = () => {};
    refused('unavailable', /does not answer/)(await failureOf(keys.sign(DATA), at.server.secrets));
    await keys.close();
  });

  it('that cannot be reached is unavailable', async () => {
    await using at = await setup();
    const keys = at.open({ address: 'http://127.0.0.1:1' });
    refused('unavailable', /does not answer \(ECONNREFUSED\)/)(await failureOf(keys.sign(DATA), at.server.secrets));
    await keys.close();
  });
});
