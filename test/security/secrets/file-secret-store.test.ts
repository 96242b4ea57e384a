import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { createFileSecrets } from '../../../security/file-secrets.ts';
import { createFileSecretStore } from '../../../security/secret-store/file-secret-store.ts';
import { ManualClock } from '../identity-provider.ts';

const refused =
  (code: string, text?: RegExp) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof SvcError, String(error));
    assert.equal(error.code, code);
    if (text !== undefined) assert.match(error.message, text);
    assert.doesNotMatch(error.message, /hunter2|\/tmp\//);
    return true;
  };
const operator: Identity = {
  ...{ kind: 'operator', subject: 'olga', tenant: 'svc-system', roles: ['svc:operator'], tier: 'free' },
};
const admin = (tenant: string): Identity => ({
  ...{ kind: 'tenant_user', subject: `admin-${tenant}`, tenant, roles: ['svc:admin'], tier: 'free' },
});

describe('secrets of tenants in files', () => {
  let root: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'svc-secrets-'));
  });
  after(() => rm(root, { recursive: true }));

  let made = 0;
  async function setup() {
    made += 1;
    const directory = join(root, `${made}`, 'secrets');
    const clock = new ManualClock();
    const audited: Readonly<Record<string, string | null>>[] = [];
    const store = createFileSecretStore({ directory, clock, audit: (event) => void audited.push(event) });
    const reader = createFileSecrets({ directory, environment: {} });
    return {
      directory,
      clock,
      audited,
      store,
      read: (tenant: string, path: string) => reader.resolve(tenant, `secret:${path}`),
    };
  }

  test('secret:PATH resolves to the stored value, whatever it holds, and no answer shows it', async () => {
    const { store, read, audited } = await setup();
    for (const [n, value] of ['hunter2', 'a\nb\n', 'crlf\r\n', '\n', 'ümläut', 'x'.repeat(65_000)].entries()) {
      const view = await store.put(operator, `db/value-${n}`, value, 'any');
      assert.equal(await read('svc-system', `db/value-${n}`), value);
      const answers = [view, await store.get(operator, `db/value-${n}`), await store.list(operator, '', { limit: 9 })];
      assert.equal(view.reference, `secret:db/value-${n}`);
      if (value.length > 1) assert.ok(!JSON.stringify([answers, audited]).includes(value));
    }
  });

  test('files are 0600 in directories of 0700, and no temporary file stays', async () => {
    const { store, directory } = await setup();
    await store.put(operator, 'deep/er/key', 'hunter2', 'any');
    await store.put(operator, 'deep/er/key', 'hunter3', 'any');
    const names = await readdir(directory, { recursive: true });
    assert.deepEqual(names.sort(), ['deep', 'deep/er', 'deep/er/key', 'deep/er/key@1', 'deep/er/key@record']);
    for (const name of names) {
      const found = await stat(join(directory, name));
      assert.equal(found.mode & 0o777, found.isDirectory() ? 0o700 : 0o600, name);
    }
    assert.ok(!(await readFile(join(directory, 'deep/er/key@record'), 'utf8')).includes('hunter'));
  });

  test('a temporary file of a killed process is removed with the next change, and that of a write in progress stays', async () => {
    const first = await setup();
    await first.store.put(admin('acme'), 'db/key', 'hunter2', 'any');
    await first.store.put(operator, 'other/key', 'hunter2', 'any');
    const leave = async (folder: string, name: string, agedMs: number): Promise<string> => {
      const file = join(first.directory, folder, `.${name}.draft`);
      await writeFile(file, 'half of hunter2');
      const at = (first.clock.now() - agedMs) / 1_000;
      await utimes(file, at, at);
      return file;
    };
    const [dead, far, fresh] = [
      await leave('tenants/acme/db', 'dead', 61_000),
      await leave('other', 'far', 61_000),
      await leave('tenants/acme/db', 'fresh', 1_000),
    ];
    const isThere = (file: string) => stat(file).then(Boolean, () => false);
    // A change cleans up its own directory, and the first change after a start all directories.
    await first.store.put(admin('acme'), 'db/more', 'hunter3', 'any');
    assert.deepEqual(await Promise.all([dead, far, fresh].map(isThere)), [false, true, true]);
    const { directory, clock } = first;
    const second = createFileSecretStore({ directory, clock, audit: () => undefined });
    await second.remove(admin('acme'), 'db/more');
    assert.deepEqual(await Promise.all([dead, far, fresh].map(isThere)), [false, false, true]);
  });

  test('rotating keeps the earlier version under a reference of its own, until it is deleted', async () => {
    const { store, read, clock } = await setup();
    const first = await store.put(operator, 'token', 'one', 'absent');
    clock.advance(1_000);
    const second = await store.put({ ...operator, subject: 'otto' }, 'token', 'two', 'present');
    assert.deepEqual([first.version, second.version, second.updated_by], [1, 2, 'otto']);
    assert.equal(second.created_at, first.created_at);
    assert.deepEqual(second.earlier, [{ version: 1, reference: 'secret:token@1' }]);
    assert.deepEqual([await read('svc-system', 'token'), await read('svc-system', 'token@1')], ['two', 'one']);
    await store.remove(operator, 'token', 1);
    await assert.rejects(read('svc-system', 'token@1'), refused('failed_precondition'));
    await assert.rejects(store.remove(operator, 'token', 1), refused('not_found'));
    await assert.rejects(
      store.remove(operator, 'token', 2),
      refused('not_found'),
      'the value in force goes with the secret',
    );
    assert.equal((await store.put(operator, 'token', 'three', 'any')).version, 3, 'numbers are never used again');
    for (let n = 4; n <= 20; n += 1) await store.put(operator, 'token', `value ${n}`, 'any');
    const { earlier } = await store.get(operator, 'token');
    assert.deepEqual(
      earlier.map(({ version }) => version),
      [19, 18, 17, 16, 15, 14, 13, 12, 11, 10],
    );
    assert.equal(await read('svc-system', 'token@10'), 'value 10');
  });

  test('creating needs that there is none, rotating that there is one, and deleting leaves nothing', async () => {
    const { store, directory } = await setup();
    await assert.rejects(store.put(operator, 'a/b', 'x', 'present'), refused('not_found'));
    await store.put(operator, 'a/b', 'x', 'absent');
    await assert.rejects(store.put(operator, 'a/b', 'hunter2', 'absent'), refused('conflict'));
    await assert.rejects(store.put(operator, 'a', 'x', 'any'), refused('conflict'));
    await assert.rejects(store.put(operator, 'a/b/c', 'x', 'any'), refused('conflict'));
    await store.put(operator, 'a/b', 'y', 'any');
    await store.remove(operator, 'a/b');
    for (const call of [store.get(operator, 'a/b'), store.remove(operator, 'a/b')]) {
      await assert.rejects(call, refused('not_found', /^secret not found$/));
    }
    assert.deepEqual(await readdir(directory), []);
  });

  test('a tenant has its own, and the node’s own are out of its reach, and the other way round', async () => {
    const { store, read } = await setup();
    await store.put(admin('alpha'), 'key', 'of alpha', 'any');
    await store.put(operator, 'key', 'of the node', 'any');
    assert.deepEqual([await read('alpha', 'key'), await read('svc-system', 'key')], ['of alpha', 'of the node']);
    await assert.rejects(store.get(admin('beta'), 'key'), refused('not_found'));
    await assert.rejects(read('beta', 'key'), refused('failed_precondition'));
    assert.deepEqual(
      (await store.list(operator, '', { limit: 9 })).items.map(({ path }) => path),
      ['key'],
    );
    await assert.rejects(store.get(operator, 'tenants/alpha/key'), refused('invalid_argument'));
    await assert.rejects(store.put(operator, 'tenants/alpha/key', 'x', 'any'), refused('invalid_argument'));
  });

  test('a caller that is no operator and no administrator of a tenant gets nothing, not even whether a secret exists', async () => {
    const { store } = await setup();
    await store.put(operator, 'key', 'x', 'any');
    const others: Identity[] = [
      { ...operator, roles: ['svc:readonly'] },
      { ...operator, roles: [] },
      { ...operator, kind: 'service_account', roles: ['svc:admin'] },
      { ...admin('alpha'), roles: ['svc:operator'] },
      { ...admin('alpha'), kind: 'consumer' },
      { ...operator, kind: 'actor' },
    ];
    for (const other of others) {
      for (const path of ['key', 'never']) {
        await assert.rejects(store.get(other, path), refused('forbidden'));
        await assert.rejects(store.put(other, path, 'x', 'any'), refused('forbidden'));
        await assert.rejects(store.remove(other, path), refused('forbidden'));
      }
      await assert.rejects(store.list(other, '', { limit: 9 }), refused('forbidden'));
    }
  });

  test('no path leaves the directory, is hidden, or names a version', async () => {
    const { store } = await setup();
    const bad = [
      '',
      '/',
      '/etc',
      '../x',
      'a/../b',
      'a//b',
      'a/',
      '.hidden',
      'a/.x',
      'a@1',
      'key@record',
      'a\0b',
      'a b',
      'ä',
      'a\\b',
    ];
    for (const path of [
      ...bad,
      'x'.repeat(64),
      `${'a/'.repeat(8)}a`,
      `${'abcdefgh/'.repeat(7)}${'x'.repeat(60)}`.repeat(2),
    ]) {
      await assert.rejects(
        store.put(operator, path, 'x', 'any'),
        refused('invalid_argument', /^path: /),
        JSON.stringify(path),
      );
      await assert.rejects(store.get(operator, path), refused('invalid_argument', /^path: /));
      await assert.rejects(store.remove(operator, path), refused('invalid_argument', /^path: /));
    }
    for (const value of ['', 'x'.repeat(65_001), '\ud800']) {
      await assert.rejects(store.put(operator, 'key', value, 'any'), refused('invalid_argument', /^value: /));
    }
  });

  test('a list is read page by page, by path, each secret once', async () => {
    const { store } = await setup();
    for (const path of ['b/1', 'a', 'b/2', 'c']) await store.put(operator, path, 'x', 'any');
    const first = await store.list(operator, '', { limit: 3 });
    assert.deepEqual(
      first.items.map(({ path }) => path),
      ['a', 'b/1', 'b/2'],
    );
    const pageToken = first.next_page_token;
    const rest = await store.list(operator, '', { limit: 3, pageToken });
    assert.deepEqual([rest.items.map(({ path }) => path), rest.next_page_token], [['c'], undefined]);
    assert.equal((await store.list(operator, '', { limit: 4 })).next_page_token, undefined);
    await assert.rejects(store.list(operator, 'b', { limit: 3, pageToken }), refused('invalid_argument', /page_token/));
    await assert.rejects(store.list(admin('alpha'), '', { limit: 3, pageToken }), refused('invalid_argument'));
  });

  test('a directory that is a link is not followed, and a file put there by hand is seen and may be rotated', async () => {
    const { store, directory, read } = await setup();
    const outside = join(root, `outside-${made}`);
    await mkdir(outside);
    await mkdir(directory, { recursive: true });
    await symlink(outside, join(directory, 'link'));
    await assert.rejects(store.put(operator, 'link/key', 'x', 'any'), refused('conflict'));
    await assert.rejects(store.get(operator, 'link/key'), refused('not_found'));
    assert.deepEqual(await readdir(outside), []);
    await writeFile(join(outside, 'key'), 'of another user', { mode: 0o600 });
    await assert.rejects(store.get(operator, 'link/key'), refused('not_found'));
    await assert.rejects(store.remove(operator, 'link/key'), refused('not_found'));
    assert.deepEqual((await store.list(operator, 'link', { limit: 9 })).items, []);
    await writeFile(join(directory, 'by-hand'), 'old\n', { mode: 0o600 });
    const seen = await store.get(operator, 'by-hand');
    assert.deepEqual([seen.version, seen.created_at, seen.updated_by], [1, null, null]);
    await store.put(operator, 'by-hand', 'new', 'present');
    assert.deepEqual([await read('svc-system', 'by-hand'), await read('svc-system', 'by-hand@1')], ['new', 'old']);
  });

  test('50 rotations at once: each reference means one value, and the last number is 50', async () => {
    const { store, read } = await setup();
    await Promise.all(Array.from({ length: 50 }, (_one, n) => store.put(operator, 'busy', `value ${n + 1}`, 'any')));
    const { version, earlier } = await store.get(operator, 'busy');
    assert.equal(version, 50);
    for (const one of earlier) assert.equal(await read('svc-system', `busy@${one.version}`), `value ${one.version}`);
  });
});
