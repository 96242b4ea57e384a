import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmod, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { loadOrMakeNodeKey, parsePublicKeyPem } from '../../security/node-key.ts';
import { refused } from '../support/refused.ts';
import { nodePair, privateDirectory } from './key-fleet.ts';

const run = promisify(execFile);

describe("a node's own key", () => {
  it('is made at first use with mode 0600, and does not change', async () => {
    await using directory = await privateDirectory();
    const path = join(directory.path, 'deep', 'node-key.pem');
    const made = await loadOrMakeNodeKey(path);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.equal((await loadOrMakeNodeKey(path)).publicKeyPem, made.publicKeyPem);
    assert.ok(createPublicKey(made.privateKey).equals(parsePublicKeyPem(made.publicKeyPem)));
  });

  it('is one key for all processes that make it at once', async () => {
    await using directory = await privateDirectory();
    const path = join(directory.path, 'node-key.pem');
    const many = await Promise.all(Array.from({ length: 20 }, () => loadOrMakeNodeKey(path)));
    const module = new URL('../../security/node-key.ts', import.meta.url).href;
    const elsewhere = join(directory.path, 'other.pem');
    const program = `import { loadOrMakeNodeKey } from '${module}'; console.log((await loadOrMakeNodeKey(process.argv[1])).publicKeyPem);`;
    const start = () => run(process.execPath, ['--input-type=module', '-e', program, elsewhere], { timeout: 30_000 });
    const processes = await Promise.all([start(), start(), start()]);
    assert.equal(new Set(many.map(({ publicKeyPem }) => publicKeyPem)).size, 1);
    assert.equal(new Set(processes.map(({ stdout }) => stdout)).size, 1);
    assert.deepEqual((await readdir(directory.path)).sort(), ['node-key.pem', 'other.pem'], 'no drafts are left');
  });

  it('in a file that other users can read, or that holds no key, is refused by the name of the file', async () => {
    await using directory = await privateDirectory();
    const path = join(directory.path, 'node-key.pem');
    await loadOrMakeNodeKey(path);
    await chmod(path, 0o644);
    await assert.rejects(loadOrMakeNodeKey(path), refused('invalid_config', /node-key\.pem: .*0600/));
    await chmod(path, 0o600);
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    for (const content of ['', 'nonsense', String(rsa)]) {
      await writeFile(path, content);
      await assert.rejects(loadOrMakeNodeKey(path), refused('invalid_config', /node-key\.pem: expected an Ed25519/));
    }
  });
});

describe('public_key_pem', () => {
  const { privateKey, publicKeyPem } = nodePair();
  const pemOf = (key: KeyObject) => String(key.export({ type: 'spki', format: 'pem' }));
  const bad: Readonly<Record<string, string>> = {
    nothing: '',
    text: 'no key',
    'a private key': String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    'an Ed448 key': pemOf(generateKeyPairSync('ed448').publicKey),
    'an X25519 key': pemOf(generateKeyPairSync('x25519').publicKey),
    'an RSA key': pemOf(generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey),
    'a key with more than 4 KiB around it': publicKeyPem + '\n'.repeat(5_000),
    'a cut key': publicKeyPem.slice(0, 60),
  };
  it('is an Ed25519 key', () => {
    assert.equal(parsePublicKeyPem(publicKeyPem).asymmetricKeyType, 'ed25519');
    assert.equal(parsePublicKeyPem(publicKeyPem.replaceAll('\n', '\r\n')).asymmetricKeyType, 'ed25519');
  });
  for (const [title, pem] of Object.entries(bad)) {
    it(`${title} is refused, naming the field and not the value`, () => {
      assert.throws(
        () => parsePublicKeyPem(pem),
        (error: Error) => {
          refused('invalid_argument', /^public_key_pem: expected an Ed25519 public key in PEM/)(error);
          assert.equal(error.cause, undefined);
          return true;
        },
      );
    });
  }
});
