import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { ProductNode } from '../product/product-node.ts';
import { fencesOf, page } from './pages.ts';

const fences = fencesOf(page('docs/guides/webhooks.md'));
const snippets = fences.filter(({ info }) => info === 'run-by=webhooks.test.ts');
const yaml = (what: string): string =>
  fences.find(({ language, text }) => language === 'yaml' && text.includes(what))?.text ?? assert.fail(what);
const has = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
const NEEDS = has('curl') && has('openssl') ? {} : { skip: 'SNIPPETS NOT TESTED: curl or openssl is not installed' };

/** `${NAME:-VALUE}` of the snippets: what the node has to know. */
const environment = Object.fromEntries(
  snippets.flatMap(({ text }) => [...text.matchAll(/\$\{(\w+):-([^}]+)\}/g)].map(([, name, value]) => [name, value])),
);

describe('docs/guides/webhooks.md', { timeout: 300_000 }, () => {
  let node: ProductNode;
  before(async () => {
    node = await ProductNode.start({ spec: parse(yaml('webhooks:')).spec, env: environment });
    const headers = { 'content-type': 'application/yaml' };
    const deployed = await node.call('POST', '/v1/workflows', { body: yaml('kind: Workflow'), headers });
    assert.equal(deployed.status, 200, deployed.text);
  });
  after(async () => node[Symbol.asyncDispose]());

  test('there is a snippet for each scheme', () => {
    assert.deepEqual(
      snippets.map(({ text }) => /webhooks\/(\w+)/.exec(text)?.[1]),
      ['sensor', 'shop', 'billing', 'chat', 'forge'],
    );
  });

  for (const { text, at } of snippets) {
    const source = /webhooks\/(\w+)/.exec(text)?.[1] ?? '';
    test(`the snippet for ${source} starts the workflow, and with another secret nothing`, NEEDS, async () => {
      const run = (secrets: NodeJS.ProcessEnv) =>
        promisify(execFile)('sh', ['-c', text.replaceAll('http://127.0.0.1:8080', node.url)], {
          env: { PATH: process.env.PATH, ...secrets },
        });
      const { stdout } = await run({});
      assert.match(stdout, /"workflow_execution_id"/, at);
      const wrong = Object.fromEntries(Object.keys(environment).map((name) => [name, 'whsec_b3RoZXI=']));
      await assert.rejects(run(wrong), /401/, at);
    });
  }
});
