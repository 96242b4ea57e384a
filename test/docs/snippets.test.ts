import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseDocument } from 'yaml';
import { parseAgentManifest } from '../../manifests/agent/parse.ts';
import { parseManagedConfig } from '../../manifests/node/managed.ts';
import { resolveSettings } from '../../manifests/node/settings.ts';
import { parseWorkflowManifest } from '../../manifests/workflow/parse.ts';
import { fencesOf, pages } from './pages.ts';

const fences = pages.flatMap(fencesOf);

test('a snippet that names its file stands in it, line by line', () => {
  const named = fences.filter(({ info }) => info.startsWith('from='));
  assert.ok(named.length > 0);
  for (const { info, text, at } of named) {
    const file = info.slice('from='.length);
    const inside = `\n${readFileSync(file, 'utf8')}\n`.includes(`\n${text}\n`);
    assert.ok(inside, `${at}: this is not in ${file}`);
  }
});

test('TypeScript is never shown without the file it comes from', () => {
  const loose = fences.filter(({ language, info }) => language === 'ts' && !info.startsWith('from='));
  assert.deepEqual(
    loose.map(({ at }) => at),
    [],
  );
});

test('YAML that is shown can be used: agents, workflows, configurations, or parts of them', () => {
  for (const { text, at } of fences.filter(({ language }) => language === 'yaml')) {
    const document = parseDocument(text);
    assert.deepEqual(document.errors, [], at);
    if (document.get('kind') === 'Agent') assert.ok(parseAgentManifest(text).ok, at);
    else if (document.get('kind') === 'Workflow') assert.ok(parseWorkflowManifest(text).ok, at);
    else if (document.get('kind') === 'ManagedConfig') assert.ok(parseManagedConfig(text).ok, at);
    else if (document.has('spec')) {
      const head = document.has('kind') ? '' : 'apiVersion: svc.dev/v1\nkind: NodeConfig\nmetadata: { name: docs }\n';
      assert.equal(JSON.stringify(problemsOf(`${head}${text}`)), '[]', at);
    }
  }
});

const problemsOf = (file: string): unknown => {
  const resolved = resolveSettings({ flags: {}, env: {}, file });
  return resolved.ok ? [] : resolved.problems;
};

test('JSON that is shown is JSON', () => {
  for (const { text, at } of fences.filter(({ language }) => language === 'json'))
    assert.doesNotThrow(() => JSON.parse(text), at);
});
