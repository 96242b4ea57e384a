import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveSettings } from '../../manifests/node/settings.ts';

const head = 'apiVersion: svc.dev/v1\nkind: NodeConfig\n';
const resolve = (web: string) => resolveSettings({ flags: {}, env: {}, file: `${head}spec: {web: ${web}}\n` });

describe('spec.web', () => {
  it('is closed by default: no private address, no search provider', () => {
    const found = resolve('{}');
    assert.ok(found.ok);
    assert.deepEqual(found.settings.web, {
      ...{ user_agent: 'svc-web-fetch/1', max_bytes: 5_242_880, timeout_ceiling_secs: 120, allow_addresses: [] },
    });
  });

  it('takes a provider with its endpoint and a reference to its key', () => {
    const found = resolve('{search: {provider: searxng, endpoint: "http://10.0.0.1:8888", api_key: env:KEY}}');
    assert.ok(found.ok);
    assert.equal(found.settings.web.search?.api_key, 'env:KEY');
    assert.ok(resolve('{allow_addresses: ["10.1.0.0/16", "fd00:1::/32", "192.168.1.7/32"]}').ok);
  });

  for (const [web, path, message] of [
    ['{search: {provider: searxng}}', 'spec.web.search.endpoint', /needs the endpoint/],
    ['{search: {provider: brave}}', 'spec.web.search.api_key', /needs the api_key/],
    ['{search: {provider: tavily}}', 'spec.web.search.api_key', /needs the api_key/],
    ['{search: {provider: other}}', 'spec.web.search.provider', /searxng/],
    ['{search: {provider: searxng, endpoint: "http://u:hunter2@h"}}', 'spec.web.search.endpoint', /without user name/],
    ['{search: {provider: searxng, endpoint: "ftp://h"}}', 'spec.web.search.endpoint', /http or https/],
    ['{allow_addresses: ["0.0.0.0/0"]}', 'spec.web.allow_addresses[0]', /at least 8 bits/],
    ['{allow_addresses: ["::/0"]}', 'spec.web.allow_addresses[0]', /at least 8 bits/],
    ['{allow_addresses: ["10.0.0.1"]}', 'spec.web.allow_addresses[0]', /address range/],
    ['{allow_addresses: ["10.0.0.0/33"]}', 'spec.web.allow_addresses[0]', /address range/],
    ['{allow_addresses: ["fe80::1%eth0/64"]}', 'spec.web.allow_addresses[0]', /address range/],
    ['{allow_addresses: ["host.example/32"]}', 'spec.web.allow_addresses[0]', /address range/],
    ['{user_agent: "a\\nb"}', 'spec.web.user_agent', /printable/],
    ['{max_bytes: 1}', 'spec.web.max_bytes', /1024/],
    ['{timeout_ceiling_secs: 0}', 'spec.web.timeout_ceiling_secs', /at least 1/],
    ['{unknown: 1}', 'spec.web.unknown', /unknown key/],
  ] as const) {
    it(`names what is wrong in ${web}`, () => {
      const found = resolve(web);
      assert.ok(!found.ok);
      const [problem] = found.problems;
      assert.equal(problem?.path, path);
      assert.match(problem?.message ?? '', message);
      assert.doesNotMatch(problem?.message ?? '', /hunter2/);
    });
  }
});
