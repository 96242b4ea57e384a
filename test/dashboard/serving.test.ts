import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ProductNode } from '../product/product-node.ts';
import { projectFiles } from '../support/tree.ts';
import { restServer } from '../transport/rest/rest-server.ts';
import { built, indexPage, zippedBytes } from './built.ts';

const FIRST_LOAD_MAX_BYTES = 300_000;
const PLAIN = { headers: { 'accept-encoding': 'identity' } };

describe('the dashboard as a node serves it', () => {
  let node: ProductNode;
  before(async () => {
    await built();
    node = await ProductNode.start();
  });
  after(() => node?.[Symbol.asyncDispose]());

  test('what the first page loads is at most 300 kB of gzip', () => {
    const sizes = zippedBytes();
    const names = [...indexPage().matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)].map(([, name = '']) => name);
    assert.ok(names.length >= 2, names.join());
    const total = names.reduce((sum, name) => sum + (sizes.get(name) ?? assert.fail(name)), 0);
    assert.ok(total <= FIRST_LOAD_MAX_BYTES, `${total} bytes`);
  });

  test('pages need no bearer, are not cached, and their policy allows nothing from other origins and nothing inline', async () => {
    for (const path of ['/', '/runs', '/runs/workflow/x', '/traces/y', '/fleet']) {
      const { status, headers, text } = await node.call('GET', path);
      assert.deepEqual([status, headers.get('content-type')], [200, 'text/html; charset=utf-8'], path);
      assert.equal(text, indexPage());
      assert.equal(headers.get('cache-control'), 'no-cache');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/);
      assert.match(policy, /frame-ancestors 'none'; base-uri 'none'/);
      assert.doesNotMatch(policy, /unsafe|\*|http/);
    }
  });

  test('files have a hash in their names, are kept for good and sent compressed', async () => {
    const [, script = ''] = /src="(\/assets\/[^"]+)"/.exec(indexPage()) ?? [];
    const { headers } = await node.call('GET', script, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(headers.get('content-encoding'), 'gzip');
    assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(headers.get('content-type'), 'text/javascript; charset=utf-8');
    const plain = await node.call('GET', script, { headers: { 'accept-encoding': 'identity' } });
    assert.equal(plain.headers.get('content-encoding'), null);
  });

  test('a file of the build is read once, however many ask for it, and one that was not there is found later', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-dashboard-'));
    const file = join(directory, 'assets', 'main-1.js');
    await mkdir(join(directory, 'assets'));
    await using at = await restServer({ dashboard: { directory, signIn: 'none', roleClaim: 'roles' } });
    assert.equal((await at.call('GET', '/assets/main-1.js')).status, 404);
    await writeFile(file, 'first');
    assert.equal((await at.call('GET', '/assets/main-1.js', PLAIN)).text, 'first');
    await rm(directory, { recursive: true });
    assert.equal((await at.call('GET', '/assets/main-1.js', PLAIN)).text, 'first');
  });

  test('no other path becomes a page, and none leads out of the folder', async () => {
    const paths = [
      '/nope',
      '/v1/nope',
      '/assets/nope.js',
      '/assets/..%2findex.html',
      '/assets/%2e%2e/index.html',
      '/runsx',
    ];
    for (const path of paths) {
      const { status, headers } = await node.call('GET', path);
      assert.equal(status, 404, path);
      assert.match(headers.get('content-type') ?? '', /^application\/json/, path);
    }
    assert.equal((await fetch(`${node.url}/dashboard`, { redirect: 'manual' })).headers.get('location'), '/');
    assert.equal((await node.call('POST', '/runs')).status, 405);
  });

  test('a page of another site gets neither the files of a node without identity provider nor its answers', async () => {
    const { status } = await node.call('POST', '/v1/executions', { headers: { origin: 'https://evil.example' } });
    assert.equal(status, 403);
  });

  test('with spec.dashboard.enabled off nothing is served at /', async () => {
    await using other = await ProductNode.start({ spec: { dashboard: { enabled: false } } });
    for (const path of ['/', '/runs', '/dashboard/config.json'])
      assert.equal((await other.call('GET', path)).status, 404);
  });
});

test('no page makes HTML of text', async () => {
  const files = projectFiles('.ts', '.tsx').filter((file) => file.startsWith('dashboard/'));
  const makes =
    /dangerouslySetInnerHTML|\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/;
  const found = await Promise.all(files.map(async (file) => (makes.test(await readFile(file, 'utf8')) ? [file] : [])));
  assert.deepEqual(found.flat(), []);
});
