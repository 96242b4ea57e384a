import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { NodeConfigSchema } from '../../manifests/node/schema.ts';
import { resolveSettings } from '../../manifests/node/settings.ts';
import { REDACTED, shownSettings } from '../../manifests/node/shown.ts';

/** Every place of svc.yaml that may hold a secret, with one in it. */
const spec = (secret: (place: string) => string) => ({
  llm_providers: [
    {
      ...{
        name: 'p',
        type: 'openai',
        api_key: secret('provider-key'),
        headers: { 'x-any': secret('provider-header') },
      },
      models: [{ alias: 'default', model: 'm' }],
    },
  ],
  stores: {
    redis: `redis://user:${secret('redis')}@h1:6379/0`,
    mongodb: `mongodb://u:${secret('mongo')}@h1,h2/db?w=1`,
  },
  stimulus: { webhooks: [{ source: 's', secrets: [secret('webhook-new'), secret('webhook-old')] }] },
  web: { search: { provider: 'brave', api_key: secret('web-key') } },
  mcp_servers: [
    {
      ...{ name: 'local', executable: 'server', args: ['--token', secret('mcp-argument')] },
      ...{ credentials: { PASS: secret('mcp-credential') }, environment: { ANY: secret('mcp-environment') } },
    },
    { name: 'remote', url: 'https://tools.example/mcp', headers: { 'x-any': secret('mcp-header') } },
  ],
  builtin_dispatchers: [{ name: 'cmd', api_key: secret('dispatcher-key') }],
  signing: {
    backend: 'vault',
    vault: {
      address: 'https://vault.example',
      approle: { role_id: 'r', secret_id: secret('approle') },
      key: 'node-key',
    },
  },
  secrets: {
    keys: {
      backend: 'vault',
      vault: { address: 'https://vault.example', approle: { role_id: 'r', secret_id: secret('secrets-approle') } },
    },
  },
  audit: { sink: { kind: 'http', url: 'https://siem.example/', token: secret('sink') } },
  cluster: { controller: { endpoint: 'c:50056', token: secret('controller') }, join_token: secret('join') },
  observability: { tracing: { otlp_endpoint: 'http://c:4318', headers: { 'x-any': secret('span-header') } } },
  runtime: {
    orchestrator_url: `https://x:${secret('orchestrator')}@node.example/`,
    containers: { runtimes: { python: { '3.14': { image: 'a/b', env: { PIP: secret('runtime-variable') } } } } },
  },
});

function shown(of: object): { readonly text: string; readonly spec: ReturnType<typeof spec> } {
  const file = stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec: of });
  const resolved = resolveSettings({ flags: {}, env: {}, file });
  assert.ok(resolved.ok, JSON.stringify(resolved));
  const text = shownSettings(resolved.settings);
  return { text, spec: parse(text).spec };
}

describe('the configuration as svc.system.config shows it', () => {
  test('has no secret, wherever it was written', () => {
    const { text, spec: seen } = shown(spec((place) => `HIDDEN-${place}`));
    assert.doesNotMatch(text, /HIDDEN/);
    assert.deepEqual(
      [seen.stores.redis, seen.stores.mongodb],
      [[`redis://${REDACTED}@h1:6379/0`], `mongodb://${REDACTED}@h1,h2/db?${REDACTED}`],
    );
    assert.equal(seen.signing.vault.key, 'node-key');
    assert.equal(seen.secrets.keys.vault.address, 'https://vault.example');
    assert.equal(seen.llm_providers[0]?.models[0]?.model, 'm');
  });

  test('has no secret that is written with literal:', () => {
    const { text } = shown({ llm_providers: spec((place) => `literal:HIDDEN-${place}`).llm_providers });
    assert.doesNotMatch(text, /HIDDEN/);
    assert.match(text, /api_key: literal:\[redacted\]/);
  });

  test('keeps references, since they only name a secret', () => {
    const { spec: seen } = shown({ stores: { redis: 'env:REDIS', mongodb: 'secret:mongo' } });
    assert.deepEqual([seen.stores.redis, seen.stores.mongodb], [['env:REDIS'], 'secret:mongo']);
  });

  test('hides passwords that hold signs a URL would have to escape', () => {
    const { text } = shown({
      stores: { redis: 'rediss://:HID@DEN:pw@h:1/0', mongodb: 'mongodb://u:HIDDEN@h/db?x=HIDDEN' },
    });
    assert.doesNotMatch(text, /HID/);
    for (const redis of [
      'redis://:HID?DEN@h:1/0',
      'redis://u:HID#DEN@h:1',
      'redis+sentinel://:HID?@DEN@h1,h2/master',
    ]) {
      const seen = shown({ stores: { redis, mongodb: 'mongodb://h/db' } });
      assert.doesNotMatch(seen.text, /HID|DEN/, redis);
    }
  });
});

/** Settings that hold a secret, or a URL with one; each is in `spec` above. */
const SECRET_SETTINGS = [
  'audit.sink.token',
  'builtin_dispatchers.api_key',
  'cluster.controller.token',
  'cluster.join_token',
  'llm_providers.api_key',
  'llm_providers.headers',
  'mcp_servers.credentials',
  'mcp_servers.environment',
  'mcp_servers.headers',
  'observability.tracing.headers',
  'secrets.keys.vault.approle.secret_id',
  'secrets.keys.vault.token',
  'signing.vault.approle.secret_id',
  'signing.vault.token',
  'stimulus.webhooks.secrets',
  'stores.mongodb',
  'stores.redis',
  'web.search.api_key',
];

/** Places of the schema whose description says that they hold one. */
function secretsIn(node: unknown, place: readonly string[]): string[] {
  if (Array.isArray(node)) return node.flatMap((one) => secretsIn(one, place));
  if (typeof node !== 'object' || node === null) return [];
  const { properties, description, ...rest } = { properties: undefined, description: undefined, ...node };
  const own = typeof description === 'string' && /^(Secret:|URL \(.*secret)/.test(description) ? [place.join('.')] : [];
  const below = Object.entries(typeof properties === 'object' && properties !== null ? properties : {});
  const inside = ['items', 'anyOf', 'oneOf', 'allOf', 'additionalProperties'].map(
    (key) => Object.entries(rest).find(([name]) => name === key)?.[1],
  );
  return [...own, ...secretsIn(inside, place), ...below.flatMap(([key, one]) => secretsIn(one, [...place, key]))];
}

test('no setting that holds a secret is forgotten by these tests', () => {
  const schema = z.toJSONSchema(NodeConfigSchema.shape.spec, { io: 'input', unrepresentable: 'any' });
  assert.deepEqual([...new Set(secretsIn(schema, []))].sort(), SECRET_SETTINGS);
});
