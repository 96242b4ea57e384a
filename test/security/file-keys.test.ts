import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createPrivateKey, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose';
import { createFileKeys } from '../../security/keys/file-keys.ts';
import { createSigningKeys } from '../../security/keys/open-keys.ts';
import { refused } from '../support/refused.ts';
import { smallFileSystem } from '../support/small-disk.ts';
import { ManualClock } from './identity-provider.ts';
import { HOUR_MS, MINUTE_MS, privateDirectory } from './key-fleet.ts';

const DATA = Buffer.from('header.payload');
const DAY_MS = 24 * HOUR_MS;
const run = promisify(execFile);

async function setup() {
  const root = await privateDirectory();
  const directory = join(root.path, 'signing-keys');
  const clock = new ManualClock();
  const warnings: string[] = [];
  const open = () =>
    createFileKeys({ directory, rotateAfterDays: 90, clock, warn: (message) => void warnings.push(message) });
  const files = async () => (await readdir(directory)).sort();
  const newest = async () => join(directory, (await files()).at(-1) ?? '');
  return {
    root: root.path,
    directory,
    clock,
    warnings,
    open,
    files,
    newest,
    [Symbol.asyncDispose]: root[Symbol.asyncDispose],
  };
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('signing keys in files', () => {
  it('are made at first use, in a directory and files of their own user only', async () => {
    await using at = await setup();
    const keys = at.open();
    await keys.open();
    assert.deepEqual(await at.files(), []);
    await keys.sign(DATA);
    assert.equal(await modeOf(at.directory), 0o700);
    const files = await at.files();
    assert.equal(files.length, 1);
    assert.equal(await modeOf(await at.newest()), 0o600);
    const pem = await readFile(await at.newest(), 'utf8');
    assert.match(pem, /^-----BEGIN PRIVATE KEY-----/, 'PKCS#8');
    assert.equal(createPrivateKey(pem).asymmetricKeyDetails?.modulusLength, 2_048);
  });

  it('sign so that the public key of that kid verifies, and the kid is its RFC 7638 thumbprint', async () => {
    await using at = await setup();
    const keys = at.open();
    const { kid, signature } = await keys.sign(DATA);
    const [jwk] = await keys.publicKeys();
    assert.ok(jwk !== undefined);
    assert.equal(jwk.kid, kid);
    assert.equal(await calculateJwkThumbprint(jwk), kid);
    assert.deepEqual(Object.keys(jwk).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use']);
    assert.ok(verify('sha256', DATA, createPublicKey({ key: { ...jwk }, format: 'jwk' }), signature));
  });

  it('are the same after a restart', async () => {
    await using at = await setup();
    const { kid } = await at.open().sign(DATA);
    assert.equal((await at.open().sign(DATA)).kid, kid);
    assert.equal((await at.files()).length, 1);
  });

  it('rotate: the new one signs at once, the old one verifies until its last token has expired, and is then removed', async () => {
    await using at = await setup();
    const keys = at.open();
    const old = await keys.sign(DATA);
    await keys.rotate();
    const next = await keys.sign(DATA);
    assert.notEqual(next.kid, old.kid);
    const kids = async () => (await keys.publicKeys()).map(({ kid }) => kid);
    assert.deepEqual(await kids(), [next.kid, old.kid]);
    at.clock.advance(HOUR_MS + 9 * MINUTE_MS);
    assert.deepEqual(await kids(), [next.kid, old.kid]);
    at.clock.advance(2 * MINUTE_MS);
    assert.deepEqual(await kids(), [next.kid]);
    assert.equal((await at.files()).length, 1);
  });

  it('rotate by themselves when they are old enough', async () => {
    await using at = await setup();
    const keys = at.open();
    const { kid } = await keys.sign(DATA);
    at.clock.advance(89 * DAY_MS);
    assert.equal((await keys.sign(DATA)).kid, kid);
    at.clock.advance(DAY_MS + 1);
    assert.notEqual((await keys.sign(DATA)).kid, kid);
    assert.equal((await keys.publicKeys()).length, 2);
    assert.deepEqual(at.warnings, []);
  });

  it('a clock that was set back does not make the new key the older one', async () => {
    await using at = await setup();
    const keys = at.open();
    await keys.sign(DATA);
    at.clock.advance(-2 * MINUTE_MS);
    await keys.rotate();
    const { kid } = await keys.sign(DATA);
    assert.equal((await keys.publicKeys())[0]?.kid, kid);
    assert.ok((await at.newest()).includes(kid));
  });

  it('go on signing when the disk is full and no new one can be made, with a warning and without a partial file', async (t) => {
    await using disk = await smallFileSystem();
    if (disk === null) return t.skip('no file system may be mounted here');
    const directory = join(disk.directory, 'signing-keys');
    const clock = new ManualClock();
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    const keys = createFileKeys({ directory, rotateAfterDays: 90, clock, warn });
    const { kid } = await keys.sign(DATA);
    await disk.fill(process.pid);
    clock.advance(91 * DAY_MS);
    assert.equal((await keys.sign(DATA)).kid, kid);
    assert.match(warnings.join(), /could not be created/);
    assert.equal((await readdir(directory)).length, 1);
    await disk.free(process.pid);
    clock.advance(MINUTE_MS);
    assert.notEqual((await keys.sign(DATA)).kid, kid);
  });

  it('a rotation by another process is used within a second', async () => {
    await using at = await setup();
    const [one, two] = [at.open(), at.open()];
    await one.sign(DATA);
    await two.sign(DATA);
    await one.rotate();
    at.clock.advance(1_000);
    assert.equal((await two.sign(DATA)).kid, (await one.sign(DATA)).kid);
  });

  it('of processes that make the first one at once all end with the same usable set', async () => {
    await using at = await setup();
    const program = `
      import { createFileKeys } from ${JSON.stringify(new URL('../../security/keys/file-keys.ts', import.meta.url).href)};
      import { systemClock } from ${JSON.stringify(new URL('../../runtime/clock.ts', import.meta.url).href)};
      const keys = createFileKeys({ directory: process.argv[1], rotateAfterDays: 90, clock: systemClock });
      const { kid } = await keys.sign(Buffer.from('x'));
      console.log(kid);`;
    const start = () =>
      run(process.execPath, ['--input-type=module', '-e', program, at.directory], { timeout: 30_000 });
    const signed = (await Promise.all([start(), start(), start()])).map(({ stdout }) => stdout.trim());
    const [one, two] = [at.open(), at.open()];
    const kids = async (keys: typeof one) => (await keys.publicKeys()).map(({ kid }) => kid ?? '');
    assert.deepEqual(await kids(one), await kids(two));
    assert.equal((await one.sign(DATA)).kid, (await two.sign(DATA)).kid);
    for (const kid of signed) assert.ok((await kids(one)).includes(kid), 'what a process signed can be verified');
    assert.deepEqual(
      (await at.files()).filter((name) => !name.endsWith('.pem')),
      [],
      'no drafts are left',
    );
  });
});

describe('a key file that cannot be trusted', () => {
  for (const mode of [0o640, 0o604, 0o660]) {
    it(`mode ${mode.toString(8)} is refused, naming the file`, async () => {
      await using at = await setup();
      await at.open().sign(DATA);
      await chmod(await at.newest(), mode);
      const path = await at.newest();
      for (const keys of [at.open(), at.open()]) {
        await assert.rejects(keys.open(), refused('invalid_config', new RegExp(`^${path}: .*0600`)));
        await assert.rejects(keys.sign(DATA), refused('invalid_config'));
      }
    });
  }

  it('a directory that other users can list is refused by its name', async () => {
    await using at = await setup();
    await mkdir(at.directory, { mode: 0o755 });
    await assert.rejects(at.open().open(), refused('invalid_config', /signing-keys: .*0700/));
    await assert.rejects(at.open().sign(DATA), refused('invalid_config', /signing-keys: .*0700/));
  });

  const marker = 'TOPSECRETKEYMATERIAL';
  const corrupt: Readonly<Record<string, string | Buffer>> = {
    empty: '',
    text: `${marker}\n`,
    'a cut PEM': `-----BEGIN PRIVATE KEY-----\n${marker}\n`,
    'a broken PEM': `-----BEGIN PRIVATE KEY-----\n${marker}\n-----END PRIVATE KEY-----\n`,
    'another key': String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })),
    'a stranger’s key under this name': String(
      generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
    ),
    'a weak key': String(
      generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
    ),
    'too large': Buffer.alloc(100_000, 'A'),
  };
  for (const [title, content] of Object.entries(corrupt)) {
    it(`${title}: the error names the file and contains none of its content`, async () => {
      await using at = await setup();
      await at.open().sign(DATA);
      const path = await at.newest();
      await writeFile(path, content);
      await assert.rejects(at.open().sign(DATA), (error: Error) => {
        refused('invalid_config')(error);
        assert.ok(error.message.startsWith(`${path}: `), error.message);
        const shown = `${error.stack} ${String(error.cause)}`;
        const body = String(content).split('\n')[1];
        assert.ok(!shown.includes(marker));
        if (body) assert.ok(!shown.includes(body));
        return true;
      });
    });
  }

  it('a file of another name is refused, one of another ending left alone', async () => {
    await using at = await setup();
    await at.open().sign(DATA);
    await writeFile(join(at.directory, 'README'), 'hello');
    await at.open().sign(DATA);
    await rename(await at.newest().then(() => join(at.directory, 'README')), join(at.directory, 'mine.pem'));
    await assert.rejects(at.open().sign(DATA), refused('invalid_config', /mine\.pem/));
  });
});

describe('spec.signing', () => {
  it('backend file keeps its keys in signing-keys of the data directory', async () => {
    await using at = await setup();
    const resolve = async (reference: string) => reference;
    const keys = createSigningKeys(
      { backend: 'file', rotate_after_days: 90 },
      { dataDir: at.root, resolve, clock: at.clock },
    );
    const { kid } = await keys.sign(DATA);
    assert.ok((await at.files()).some((name) => name.includes(kid)));
  });
});
