import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type VolumesUnderTest, volumesUnderTest } from '../../effects/volumes/volumes-under-test.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { namedUsers, restServer, UNKNOWN } from './rest-server.ts';

let setup: VolumesUnderTest;
before(async () => {
  setup = await volumesUnderTest();
});
after(async () => setup[Symbol.asyncDispose]());

const as = (user: string): Record<string, string> => ({ authorization: `Bearer ${user}` });
const open = () => restServer({ authenticator: namedUsers, volumes: setup.volumes });
type Setup = Awaited<ReturnType<typeof open>>;

let count = 0;
async function made(at: Setup, more: object = {}): Promise<string> {
  count += 1;
  const answer = await at.postJson('/v1/volumes', { name: `v${count}`, ...more }, as('alice'));
  assert.equal(answer.status, 200, answer.text);
  return answer.body.id;
}
const content = (id: string, path: string): string =>
  `/v1/volumes/${id}/files/content?path=${encodeURIComponent(path)}`;
const put = (at: Setup, id: string, path: string, body: string | Uint8Array<ArrayBuffer>, user = 'alice') =>
  at.call('PUT', content(id, path), { body, headers: { ...as(user), 'content-type': 'application/json' } });

describe('volumes over REST', () => {
  test('are created, listed, shown and deleted', async () => {
    await using at = await open();
    const id = await made(at, { size_limit_bytes: 1_000 });
    const shown = (await at.call('GET', `/v1/volumes/${id.toUpperCase()}`, { headers: as('alice') })).body;
    assert.deepEqual(
      [shown.id, shown.storage_class, shown.size_limit_bytes, shown.used_bytes],
      [id, 'persistent', 1_000, 0],
    );
    const listed = (await at.call('GET', '/v1/volumes', { headers: as('alice') })).body.volumes;
    assert.deepEqual(listed, [shown]);
    assert.deepEqual((await at.call('GET', '/v1/volumes?skip=1', { headers: as('alice') })).body, { volumes: [] });
    const deleted = await at.call('DELETE', `/v1/volumes/${id}`, { headers: as('alice') });
    assert.deepEqual(deleted.body, { volume_id: id, deleted: true });
    assert.equal((await at.call('GET', `/v1/volumes/${id}`, { headers: as('alice') })).status, 404);
  });

  test('each operation is a storage event, listed newest first, in pages, by event and by path', async () => {
    await using at = await open();
    const id = await made(at);
    await put(at, id, '/a.txt', 'one');
    await put(at, id, '/a.txt', 'other');
    await at.call('GET', content(id, '/a.txt'), { headers: as('alice') });
    const events = async (query = '', user = 'alice') =>
      (await at.call('GET', `/v1/volumes/${id}/events${query}`, { headers: as(user) })).body;
    const names = ({ events: found = [] }) => found.map(({ event, path }: Record<string, string>) => [event, path]);
    const { events: all } = await events();
    const file = (event: string) => [event, '/a.txt'];
    assert.deepEqual(names({ events: all }), [
      ...['FileRead', 'FileWritten', 'FileCreated'].map(file),
      ['VolumeCreated', null],
    ]);
    assert.deepEqual(
      [all[1].details, all[1].volume_id, 'tenant' in all[1]],
      [{ offset: 0, bytes_written: 5 }, id, false],
    );
    assert.deepEqual(names(await events('?event=FileWritten')), [file('FileWritten')]);
    assert.equal(names(await events('?path=/a.txt')).length, 3);
    const first = await events('?limit=3');
    const rest = await events(`?limit=3&page_token=${first.next_page_token}`);
    assert.deepEqual([...first.events, ...rest.events], all);
    assert.equal((await events('?event=Nothing')).error, 'invalid_argument');
    assert.deepEqual(await events('', 'bob'), { error: 'not_found', message: 'volume not found' });
    assert.equal((await events('', 'reader')).error, 'not_found');
  });

  test('bad requests say what was expected', async () => {
    await using at = await open();
    for (const [body, status] of [
      [{}, 400],
      [{ name: 'a', more: 1 }, 400],
      [{ name: '../a' }, 400],
      [{ name: 'a', size_limit_bytes: -1 }, 400],
      [{ name: 'a', size_limit_bytes: 1e15 }, 400],
      [{ name: 'a', ttl_hours: 1 }, 400],
    ] as const) {
      const answer = await at.postJson('/v1/volumes', body, as('alice'));
      assert.deepEqual([answer.status, answer.body.error], [status, 'invalid_argument'], JSON.stringify(body));
    }
    assert.equal((await at.call('GET', '/v1/volumes/xyz', { headers: as('alice') })).status, 400);
    const id = await made(at, { name: 'twice' });
    assert.equal((await at.postJson('/v1/volumes', { name: 'twice' }, as('alice'))).status, 409);
    setup.running.add(UNKNOWN);
    await setup.volumes.store.parts.records.addUser('alice', id, UNKNOWN);
    const used = await at.call('DELETE', `/v1/volumes/${id}`, { headers: as('alice') });
    assert.deepEqual([used.status, used.body.error], [409, 'conflict']);
    setup.running.clear();
  });

  test('another tenant gets 404 everywhere, and a read-only caller changes nothing', async () => {
    await using at = await open();
    const id = await made(at);
    await put(at, id, 'f', 'x');
    for (const [method, path] of [
      ['GET', `/v1/volumes/${id}`],
      ['DELETE', `/v1/volumes/${id}`],
      ['GET', `/v1/volumes/${id}/files`],
      ['GET', content(id, 'f')],
      ['PUT', content(id, 'f')],
      ['DELETE', `/v1/volumes/${id}/files?path=f`],
    ] as const) {
      assert.equal((await at.call(method, path, { headers: as('bob') })).status, 404, `${method} ${path}`);
      if (method !== 'GET') assert.equal((await at.call(method, path, { headers: as('reader') })).status, 403);
      assert.equal((await at.call(method, path)).status, 401);
    }
    assert.equal((await at.postJson('/v1/volumes', { name: 'r' }, as('reader'))).status, 403);
    assert.equal((await at.call('GET', '/v1/volumes', { headers: as('reader') })).status, 200);
    assert.deepEqual((await at.call('GET', '/v1/volumes', { headers: as('bob') })).body, { volumes: [] });
  });

  test('files are uploaded and downloaded unchanged, of any type', async () => {
    await using at = await open();
    const id = await made(at);
    const bytes = new Uint8Array(300_000).map((_byte, index) => index % 251);
    const up = await put(at, id, 'dir/binary file', bytes);
    assert.deepEqual(up.body, { path: '/dir/binary file', bytes_written: 300_000, created: true });
    assert.equal((await put(at, id, 'empty', '')).body.bytes_written, 0);
    const typed = { ...as('alice'), 'content-type': 'application/octet-stream' };
    assert.equal((await at.call('PUT', content(id, 'typed'), { body: bytes, headers: typed })).status, 200);
    const down = await fetch(`${at.base}${content(id, '/dir/binary file')}`, { headers: as('alice') });
    assert.deepEqual(new Uint8Array(await down.arrayBuffer()), bytes);
    assert.equal(down.headers.get('content-type'), 'application/octet-stream');
    assert.equal(down.headers.get('content-disposition'), 'attachment');
    await at.postJson(`/v1/volumes/${id}/files/mkdir`, { path: 'dir/sub' }, as('alice'));
    const list = await at.call('GET', `/v1/volumes/${id}/files?path=dir`, { headers: as('alice') });
    assert.deepEqual(
      list.body.entries.map((entry: { name: string }) => entry.name),
      ['binary file', 'sub'],
    );
    const remove = (path: string) =>
      at.call('DELETE', `/v1/volumes/${id}/files?path=${path}`, { headers: as('alice') });
    assert.equal((await remove('dir')).status, 409);
    assert.deepEqual((await remove('dir&recursive')).body, { path: 'dir', deleted: true });
    assert.equal((await remove('dir')).status, 404);
  });

  test('paths and links that lead out are 403', async () => {
    await using at = await open();
    const id = await made(at);
    const { directory } = await setup.volumes.open('alice', id);
    await symlink('/etc', join(directory, 'etc'));
    for (const path of ['../x', 'a/../../x', 'etc/passwd']) {
      const get = await at.call('GET', content(id, path), { headers: as('alice') });
      assert.deepEqual([get.status, get.body.error], [403, 'forbidden'], path);
      assert.equal((await put(at, id, path, 'x')).status, 403, path);
    }
    assert.equal((await at.call('GET', content(id, '/etc/passwd/%00'), { headers: as('alice') })).status, 403);
    assert.equal((await put(at, id, 'a\0b', 'x')).status, 400);
  });

  test('an upload beyond the limit is 507, however it is sent, and the old file stays', async () => {
    await using at = await open();
    const id = await made(at, { size_limit_bytes: 100_000 });
    assert.equal((await put(at, id, 'f', new Uint8Array(100_000))).status, 200);
    for (const size of [100_001, 5_000_000]) {
      const full = await put(at, id, 'f', new Uint8Array(size));
      assert.deepEqual([full.status, full.body.error], [507, 'quota_exceeded']);
    }
    assert.equal((await setup.volumes.files.read('alice', id, 'f')).length, 100_000);
  });

  test('a client that leaves in the middle of an upload changes nothing', async () => {
    await using at = await open();
    const id = await made(at);
    await put(at, id, 'f', 'old');
    const upload = httpRequest(`${at.base}${content(id, 'f')}`, {
      ...{ method: 'PUT', headers: { ...as('alice'), 'content-length': '1000' } },
    });
    upload.on('error', () => {});
    upload.write('half');
    await waitUntil('the upload began', async () => await setup.volumes.store.isHeld('alice', id));
    upload.destroy();
    await waitUntil('the upload is given up', () => !setup.volumes.store.isHeld('alice', id));
    assert.equal(String(await setup.volumes.files.read('alice', id, 'f')), 'old');
    assert.equal((await setup.volumes.get('alice', id)).used_bytes, 3);
  });

  test('every route is described, uploads and downloads as bytes', async () => {
    await using at = await open();
    const { paths } = (await at.call('GET', '/v1/openapi.json')).body;
    const routes = Object.entries<Record<string, { summary?: string }>>(paths)
      .filter(([path]) => path.startsWith('/v1/volumes'))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { summary }]) => ({ path, method, summary })),
      );
    assert.equal(routes.length, 10);
    assert.ok(routes.every(({ summary }) => summary !== undefined));
    const bytes = paths['/v1/volumes/{id}/files/content'];
    assert.deepEqual(Object.keys(bytes.put.requestBody.content), ['application/octet-stream']);
    assert.deepEqual(Object.keys(bytes.get.responses['200'].content), ['application/octet-stream']);
  });

  test('a node without volumes has no such path', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    assert.equal((await at.call('GET', '/v1/volumes', { headers: as('alice') })).status, 404);
  });
});
