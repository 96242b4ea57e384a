import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { svc } from '../cli/svc-run.ts';
import { waitUntil } from '../support/wait-until.ts';
import { clientOf, ended, metadataOf, request } from '../transport/grpc/call.ts';
import { agentYaml, ProductNode } from './product-node.ts';

describe('a node with spec.iam.local: token', () => {
  let node: ProductNode;
  const file = (): string => join(node.directory, 'data', 'local-token');
  const tokenNow = async (): Promise<string> => (await readFile(file(), 'utf8')).trim();
  const bearer = async () => ({ authorization: `Bearer ${await tokenNow()}` });
  before(async () => {
    const network = { trust_proxy: ['127.0.0.0/8'] };
    node = await ProductNode.start({ spec: { iam: { local: 'token' }, network } });
  });
  after(() => node[Symbol.asyncDispose]());

  test('says so at start and writes the token for its user only', async () => {
    const says = /spec\.iam\.local: token: every call needs the token in \S+local-token/;
    await waitUntil('the start says which is on', () => says.test(node.process.announced));
    assert.equal((await stat(file())).mode & 0o777, 0o600);
    assert.match(await tokenNow(), /^[\w-]{43}$/);
    assert.doesNotMatch(node.process.log + node.process.announced, new RegExp(await tokenNow()));
  });

  test('names the page that opens the dashboard with the token; that page is for its user only, too', async () => {
    const [, url = ''] = /the dashboard opens with it by (file:\S+)/.exec(node.process.announced) ?? [];
    const page = fileURLToPath(url);
    assert.equal(page, join(node.directory, 'data', 'dashboard.html'));
    assert.equal((await stat(page)).mode & 0o777, 0o600);
    assert.ok((await readFile(page, 'utf8')).includes(`location.replace("${node.url}/#token=${await tokenNow()}")`));
  });

  test('addresses in headers of a trusted proxy or of any client change nothing', async () => {
    const headers = {
      'x-forwarded-for': '127.0.0.1, 10.0.0.1',
      'x-forwarded-host': 'localhost',
      'x-forwarded-proto': 'https',
      'x-real-ip': '127.0.0.1',
      forwarded: 'for=127.0.0.1;host=localhost;proto=https',
    };
    assert.equal((await node.call('GET', '/v1/agents', { headers })).status, 401);
    const admitted = { ...headers, ...(await bearer()) };
    assert.equal((await node.call('GET', '/v1/agents', { headers: admitted })).status, 200);
  });

  test('REST refuses every call without the token but health, and takes it from curl', async () => {
    for (const authorization of ['', 'Bearer x', `Bearer ${'x'.repeat(43)}`, `Basic ${await tokenNow()}`]) {
      const headers: Record<string, string> = authorization === '' ? {} : { authorization };
      for (const [method, path] of [
        ['GET', '/v1/agents'],
        ['POST', '/v1/cluster/config/push'],
        ['GET', '/v1/tools'],
        ['POST', '/mcp'],
      ] as const) {
        assert.equal((await node.call(method, path, { headers })).status, 401, `${authorization} ${path}`);
      }
    }
    assert.equal((await node.call('GET', '/health')).status, 200);
    assert.equal((await node.call('GET', '/v1/agents', { headers: await bearer() })).status, 200);
  });

  test('gRPC refuses a call without the token', async () => {
    const id = await node.deploy(agentYaml('calls'), await bearer());
    const client = clientOf(await node.process.grpcAddress);
    assert.equal((await ended(client.executeAgent(request(id)))).code, 'UNAUTHENTICATED');
    assert.equal((await ended(client.executeAgent(request(id), metadataOf(await bearer())))).code, 'OK');
    client.close();
  });

  test('svc finds the token by SVC_DATA and by the configuration file; a wrong one is not repaired', async () => {
    const config = join(node.directory, 'client.yaml');
    const spec = { stores: { data_dir: join(node.directory, 'data') } };
    await writeFile(config, stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec }));
    const list = (env: NodeJS.ProcessEnv) => svc(['agent', 'list', '--url', node.url], env);
    for (const env of [{ SVC_DATA: join(node.directory, 'data') }, { SVC_CONFIG: config }]) {
      const done = await list(env);
      assert.equal(done.code, 0, done.stderr);
    }
    const missing = await list({ SVC_DATA: join(node.directory, 'elsewhere') });
    assert.equal(missing.code, 3);
    assert.match(missing.stderr, /token from the file local-token in the data directory/);
    assert.equal((await list({ SVC_DATA: join(node.directory, 'data'), SVC_TOKEN: 'x' })).code, 3);
  });

  test('the next start has a new token, and a start without one removes the files', async () => {
    const old = await bearer();
    await node.process.kill();
    await node.spawn();
    assert.equal((await node.call('GET', '/v1/agents', { headers: old })).status, 401);
    assert.equal((await node.call('GET', '/v1/agents', { headers: await bearer() })).status, 200);
    await node.process.kill();
    const settings = join(node.directory, 'svc.yaml');
    await writeFile(settings, (await readFile(settings, 'utf8')).replace('local: token', 'local: open'));
    await node.spawn();
    await assert.rejects(stat(file()), { code: 'ENOENT' });
    await assert.rejects(stat(join(node.directory, 'data', 'dashboard.html')), { code: 'ENOENT' });
    const open = /spec\.iam\.local: open: every call from this machine acts as/;
    await waitUntil('the start says that the node is open', () => open.test(node.process.announced));
    assert.equal((await node.call('GET', '/v1/agents')).status, 200);
  });
});
