import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MANAGED_CONFIG_BYTES, parseManagedConfig } from '../../manifests/node/managed.ts';
import { ManagedProvider, providersOf } from '../../manifests/node/managed-providers.ts';
import { ProviderConfig } from '../../manifests/node/models.ts';

const managed = (spec: string): string => `apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec:\n${spec}`;

const problems = (text: string): string[] => {
  const parsed = parseManagedConfig(text);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
};

test('tags of nodes, the log level and the default isolation can be managed', () => {
  const parsed = parseManagedConfig(
    managed(
      [
        '  nodes: {w1: {tags: [gpu, "zone:eu"]}, w2: {tags: []}}',
        '  observability: {logging: {level: debug}}',
        '  runtime: {default_isolation: docker}',
      ].join('\n'),
    ),
  );
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.config.spec, {
    nodes: { w1: { tags: ['gpu', 'zone:eu'] }, w2: { tags: [] } },
    observability: { logging: { level: 'debug' } },
    runtime: { default_isolation: 'docker' },
  });
});

test('an absent setting is not managed: nothing gets a default', () => {
  for (const text of ['', '\n', managed('  {}')]) {
    const parsed = parseManagedConfig(text);
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.config.spec, {});
  }
});

for (const [spec, expected] of [
  ['  network: {port: 1}', 'spec.network: unknown key "network": controllers do not manage it'],
  ['  node: {tags: [gpu]}', 'spec.node: unknown key "node": controllers do not manage it; did you mean "nodes"?'],
  ['  runtime: {host_commands: {allow: [a]}}', 'unknown key "host_commands": controllers do not manage it'],
  ['  observability: {tracing: {enabled: true}}', 'unknown key "tracing": controllers do not manage it'],
  ['  observability: {logging: {level: info, format: text}}', 'unknown key "format": controllers do not manage it'],
  ['  nodes: {w1: {tags: [], weight: 2}}', 'spec.nodes.w1.weight: unknown key "weight": controllers do not manage it'],
  ['  nodes: {"../w1": {tags: []}}', 'expected at most 128 letters, digits'],
  ['  nodes: {w1: {tags: ["two words"]}}', 'spec.nodes.w1.tags[0]: expected a tag'],
  ['  observability: {logging: {level: loud}}', 'spec.observability.logging.level: expected one of'],
  ['  runtime: {default_isolation: jail}', 'spec.runtime.default_isolation: expected one of'],
] as const) {
  test(`${spec.trim()} is refused by name`, () => {
    const found = problems(managed(spec));
    assert.ok(
      found.some((problem) => problem.includes(expected)),
      found.join('\n'),
    );
  });
}

test('a node configuration is no managed one', () => {
  const found = problems('apiVersion: svc.dev/v1\nkind: NodeConfig\nspec: {}\n');
  assert.match(found.join('\n'), /kind: expected "ManagedConfig"/);
});

test('broken, hostile and too long configurations are refused, never thrown', () => {
  const tooLong = managed(`  {} # ${'x'.repeat(MANAGED_CONFIG_BYTES)}`);
  for (const text of ['[', 'a: &a [*a]', '- 1', '"text"', '\u0000', tooLong]) assert.notDeepEqual(problems(text), []);
});

test('a node uses its own providers first, and a managed one of the same name is not used there', () => {
  const models = [{ alias: 'default', model: 'm' }];
  const own = [ProviderConfig.parse({ name: 'a', type: 'scripted', script: 's.yaml', models })];
  const managed = ['a', 'b'].map((name) => ManagedProvider.parse({ name, type: 'ollama', models }));
  assert.deepEqual(
    providersOf(own, managed).map(({ name, type }) => [name, type]),
    [
      ['a', 'scripted'],
      ['b', 'ollama'],
    ],
  );
});

test('a managed alias falls back to managed aliases only, and names are given once', () => {
  const provider = (name: string, fallback: string) =>
    `{name: ${name}, type: ollama, models: [{alias: x, model: m, fallback_alias: ${fallback}}]}`;
  assert.deepEqual(problems(managed(`  llm_providers: [${provider('a', 'x')}]`)), []);
  assert.match(
    problems(managed(`  llm_providers: [${provider('a', 'y')}]`)).join(),
    /no managed model has the alias "y"/,
  );
  const twice = `  llm_providers: [${provider('a', 'x')}, ${provider('a', 'x')}]`;
  assert.match(problems(managed(twice)).join(), /already used by llm_providers\[0\]/);
});
