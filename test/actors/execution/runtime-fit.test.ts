import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StartExecution } from '../../../actors/execution/messages.ts';
import { fitToNode, type NodeOffer } from '../../../actors/execution/plan-execution.ts';
import { parseAgentManifest } from '../../../manifests/agent/parse.ts';
import { findRuntime, RuntimeSettings, runtimeTable, runtimeWarnings } from '../../../manifests/runtime-table/table.ts';
import { agentYaml } from '../../product/product-node.ts';

type Asked = Readonly<Record<string, string | undefined>>;

function start(runtime: Asked): StartExecution {
  const parsed = parseAgentManifest(agentYaml('worker', { runtime }));
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return {
    ...{ executionId: 'e-1', agentId: 'a-1', manifest: parsed.manifest, input: '' },
    identity: { kind: 'local', subject: 's', tenant: 't', roles: [], tier: 'free' },
  };
}

const offer: NodeOffer = { isolation: 'process' };

describe('language and version at the start of an execution', () => {
  test('a language and version of the table, an image, and neither of both start; inherit becomes the node’s isolation', () => {
    for (const runtime of [{ language: 'python', version: '3.11' }, { image: 'ghcr.io/a/b:1' }, {}]) {
      assert.equal(fitToNode(start(runtime), offer).spec.runtime.isolation, 'process');
    }
    const own = { language: 'go', version: '1.21', isolation: 'docker' };
    assert.equal(fitToNode(start(own), offer).spec.runtime.isolation, 'docker');
  });

  test('an unknown pair is refused under every isolation, naming what there is', () => {
    for (const isolation of ['inherit', 'process', 'docker']) {
      assert.throws(() => fitToNode(start({ language: 'rust', version: '1.0', isolation }), offer), {
        ...{ code: 'unsupported_runtime', field: 'spec.runtime.version' },
        message: 'runtime rust 1.0 is not in the table of this node, which has rust 1.74, 1.75, 1.85, 1.90',
      });
    }
  });

  test('no other version is taken instead, however near', () => {
    for (const version of ['3', '3.1', '3.11.0', '3.110']) {
      assert.throws(() => fitToNode(start({ language: 'python', version }), offer), { code: 'unsupported_runtime' });
    }
  });

  test('a deprecated version starts, and is logged once with agent and execution', () => {
    const told: string[] = [];
    const listening: NodeOffer = {
      ...offer,
      onDeprecated: ({ agentId, executionId }, { language, version }) =>
        told.push([agentId, executionId, language, version].join(' ')),
    };
    fitToNode(start({ language: 'python', version: '3.9' }), listening);
    fitToNode(start({ language: 'python', version: '3.10' }), listening);
    assert.deepEqual(told, ['a-1 e-1 python 3.9']);
  });
});

describe('the table of a node', () => {
  const table = runtimeTable(
    RuntimeSettings.parse({
      python: { '3.13': 'registry.example/python:3.13', '3.9': null, '3.14': { image: 'a/b', deprecated: true } },
      go: { '1.20': null, '1.21': null, '1.24': null, '1.25': null },
    }),
  );

  test('has what the settings add and replace, and not what they take away', () => {
    const python = table.filter(({ language }) => language === 'python');
    assert.deepEqual(
      python.map(({ version }) => version),
      ['3.10', '3.11', '3.12', '3.13', '3.14'],
    );
    assert.deepEqual(python.at(-1), {
      ...{ language: 'python', version: '3.14', image: 'a/b', deprecated: true, env: {} },
      description: 'python 3.14: a/b',
    });
    assert.equal(python.at(-2)?.image, 'registry.example/python:3.13');
  });

  test('lists the remaining languages in the error when a language was removed', () => {
    const found = findRuntime(table, { language: 'go', version: '1.21' });
    assert.ok(!found.ok);
    assert.match(found.message, /has no version of it, only python, javascript, typescript, rust$/);
  });

  test('what it ships with is what the specification names, python 3.9 deprecated', () => {
    const pairs = runtimeTable().map(({ language, version }) => `${language} ${version}`);
    const named = [
      'python 3.9',
      'python 3.10',
      'python 3.11',
      'javascript 18',
      'javascript 20',
      'typescript 5.1',
    ].concat(['rust 1.74', 'rust 1.75', 'go 1.20', 'go 1.21']);
    assert.deepEqual(
      named.filter((pair) => !pairs.includes(pair)),
      [],
    );
    assert.deepEqual(
      runtimeTable().flatMap(({ language, version, deprecated }) => (deprecated ? [`${language} ${version}`] : [])),
      ['python 3.9'],
    );
  });
});

describe('warnings of a deploy about language and version', () => {
  const warnings = (runtime: Asked) => runtimeWarnings(agentYaml('worker', { runtime }), runtimeTable());

  test('a deprecated and an unknown pair are warnings with their line, all else is none', () => {
    const [old, ...none] = warnings({ language: 'python', version: '3.9' });
    assert.deepEqual(
      [old?.rule, old?.severity, old?.path, none],
      ['deprecated_runtime', 'warning', 'spec.runtime.version', []],
    );
    assert.ok((old?.line ?? 0) > 1);
    assert.equal(old?.cure, 'Write one of 3.10, 3.11, 3.12, 3.13.');
    assert.equal(warnings({ language: 'go', version: '9.9' })[0]?.rule, 'unknown_runtime');
    for (const runtime of [{ language: 'go', version: '1.21' }, { image: 'a.example/b/c' }, {}]) {
      assert.deepEqual(warnings(runtime), []);
    }
    assert.deepEqual(runtimeWarnings('a: [', runtimeTable()), []);
  });
});
