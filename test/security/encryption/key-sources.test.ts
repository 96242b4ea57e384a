import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { FileKeySource } from '../../../security/encryption/file-key-source.ts';
import { VaultKeySource } from '../../../security/encryption/vault-key-source.ts';
import { keySourceContract } from '../../contract/key-source.ts';
import { ManualClock } from '../identity-provider.ts';
import { VaultServer } from '../vault-server.ts';

keySourceContract('a file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-keys-'));
  const path = join(directory, 'keys.json');
  const open = () => new FileKeySource({ path, isCopied: false, now: Date.now });
  return { source: open(), another: open, stop: () => rm(directory, { recursive: true }) };
});

async function vault() {
  const clock = new ManualClock();
  const server = new VaultServer(clock);
  await server.listen();
  const place = { address: server.address, mount: 'transit', key: 'svc-secrets' };
  const approle = { roleId: server.roleId, secretId: async () => server.secretId };
  const open = () => new VaultKeySource({ ...place, clock, approle });
  const openByToken = () => new VaultKeySource({ ...place, clock, token: async () => server.fixedToken });
  return { clock, server, open, openByToken };
}

keySourceContract('Vault', async () => {
  const { server, open } = await vault();
  return { source: open(), another: open, stop: () => server[Symbol.asyncDispose]() };
});

describe('keys in Vault', () => {
  test('the lease of the login is renewed before it ends, and a login that ended is made again', async () => {
    const { clock, server, open } = await vault();
    await using _server = server;
    const source = open();
    await source.create();
    const wrapped = await source.wrap(1, Buffer.alloc(32, 1));
    assert.deepEqual([server.logins, server.renewals], [1, 0]);
    for (let n = 1; n <= 3; n += 1) {
      clock.advance(900_000);
      await source.unwrap(1, wrapped);
      assert.deepEqual([server.logins, server.renewals], [1, n], 'a lease of 1,200 s lives on');
    }
    clock.advance(1_300_000);
    server.tokens.clear();
    await source.unwrap(1, wrapped);
    assert.equal(server.logins, 2);
    await source.close();
  });

  test('the lease of a fixed token is renewed as well', async () => {
    const { clock, server, openByToken } = await vault();
    await using _server = server;
    const source = openByToken();
    await source.create();
    for (const [advance, renewals] of [
      [60_000, 1],
      [1_000, 1],
      [900_000, 2],
    ] as const) {
      clock.advance(advance);
      await source.newest();
      assert.equal(server.renewals, renewals);
    }
    await source.close();
  });

  test('a service that is down is unavailable, and no error has a token, a key or its text', async () => {
    const { server, open } = await vault();
    const source = open();
    await source.create();
    const wrapped = await source.wrap(1, Buffer.alloc(32, 1));
    server.fault = (response) => {
      response.writeHead(503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ errors: [`sealed ${server.secretId}`] }));
    };
    const isClean = (error: unknown): boolean => {
      assert.ok(error instanceof SvcError);
      for (const secret of server.secrets) assert.ok(!`${error.message} ${error.stack}`.includes(secret));
      return error.code === 'unavailable';
    };
    await assert.rejects(source.unwrap(1, wrapped), isClean);
    await server[Symbol.asyncDispose]();
    await assert.rejects(source.unwrap(1, wrapped), isClean);
    await source.close();
  });
});
