import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { validateWorkflow } from '../../catalog/manifest-work.ts';
import { svc } from '../cli/svc-run.ts';
import { ProductNode } from '../product/product-node.ts';
import { fencesOf, page } from './pages.ts';

const snippets = fencesOf(page('docs/guides/workflows.md')).filter(({ language }) => language === 'yaml');
const END = { kind: 'System', command: 'finalize', env: { done: 'yes' }, transitions: [] };

/** A snippet is a manifest, or one state that leads to DONE or FAILED. */
function manifestOf(text: string): string {
  const shown: Record<string, unknown> = parse(text);
  if (shown.kind === 'Workflow') return text;
  const [name = ''] = Object.keys(shown);
  return stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'shown', version: '1.0.0' },
    spec: { initial_state: name, context: { draft: '' }, states: { ...shown, DONE: END, FAILED: END } },
  });
}

test('every workflow and every state that is shown is sound: no error and no warning', () => {
  assert.ok(snippets.length >= 10);
  for (const { text, at } of snippets) {
    const { findings } = validateWorkflow(manifestOf(text));
    assert.deepEqual(
      findings.map(({ rule, message }) => `${rule}: ${message}`),
      [],
      at,
    );
  }
});

test('each of the seven kinds is shown', () => {
  const kinds = snippets.flatMap(({ text }) => [...text.matchAll(/kind: (\w+)/g)].map(([, kind]) => kind));
  const missing = ['Agent', 'System', 'Human', 'ParallelAgents', 'ContainerRun', 'ParallelContainerRun', 'Subworkflow'];
  assert.deepEqual(
    missing.filter((kind) => !kinds.includes(kind)),
    [],
  );
});

/** What the page says comes out. */
const OUTPUTS: Readonly<Record<string, object>> = {
  hello: { words: '6' },
  'three-times': { tries: '3' },
  gate: { answer: 'rejected' },
};

describe('workflows marked run', { timeout: 300_000 }, () => {
  let node: ProductNode;
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-workflows-'));
    node = await ProductNode.start();
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  for (const { text, at } of snippets.filter(({ info }) => info === 'run')) {
    const { metadata } = parse(text);
    test(`${metadata.name} of ${at.split(':')[0]} ends as its page says`, async () => {
      const file = join(directory, `${metadata.name}.yaml`);
      await writeFile(file, text);
      const { code, stdout, stderr } = await svc(['--url', node.url, 'run', file]);
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), OUTPUTS[metadata.name]);
    });
  }
});
