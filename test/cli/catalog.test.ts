import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PATH_WORDS } from '../../cli/names.ts';
import { PATH_WORDS as CHECKED_WORDS } from '../../manifests/workflow/check/name-rules.ts';
import { ProductNode } from '../product/product-node.ts';
import { SURFACE } from '../product/surface.ts';
import { someOf } from '../support/size.ts';
import { svc as runSvc } from './svc-run.ts';

const MANIFESTS = {
  agent: `apiVersion: svc.dev/v1
kind: Agent
metadata: {name: thing, version: 1.0.0}
spec: {task: {instruction: do it}}
`,
  workflow: `apiVersion: svc.dev/v1
kind: Workflow
metadata: {name: thing, version: 1.0.0}
spec: {initial_state: END, states: {END: {kind: System, command: finalize, transitions: []}}}
`,
} as const;

/** Both have the same commands; test/cli/agent.test.ts and test/cli/workflow.test.ts have those of one. */
const KINDS = someOf(['agent', 'workflow'] as const, 2);

describe('status and scope on the command line', () => {
  let node: ProductNode;
  let directory = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-cli-catalog-'));
    node = await ProductNode.start();
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  for (const kind of KINDS)
    test(`svc ${kind} deploys in a scope, pauses, resumes, archives, promotes, demotes and deletes`, async () => {
      const svc = (...args: string[]) => runSvc([kind, ...args], { SVC_URL: node.url });
      const says = async (pattern: RegExp, ...args: string[]): Promise<void> => {
        const { code, stdout, stderr } = await svc(...args);
        assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
        assert.match(stdout, pattern);
      };
      const file = join(directory, `${kind}.yaml`);
      await writeFile(file, MANIFESTS[kind]);
      await says(/^deployed/, 'deploy', file, '--scope', 'user');
      await says(/^thing is in scope tenant\n$/, 'promote', 'thing', '--to', 'tenant');
      await says(/^thing is in scope global\n$/, 'promote', 'thing');
      await says(/^thing is in scope tenant\n$/, 'demote', 'thing');
      await says(new RegExp(`^${kind} thing is paused\n$`), 'pause', 'thing');
      await says(/thing\s+1\.0\.0\s+paused\s+tenant/, 'list', '--status', 'paused');
      await says(new RegExp(`^${kind} thing is archived\n$`), 'archive', 'thing');
      assert.doesNotMatch((await svc('list')).stdout, /thing/);
      await says(new RegExp(`^${kind} thing is deployed\n$`), 'resume', 'thing');
      const nowhere = await svc('pause', 'nobody');
      assert.equal(nowhere.code, 1, nowhere.stderr);
      const taken = await svc('demote', 'thing');
      assert.deepEqual([taken.code, /in scope tenant, not global/.test(taken.stderr)], [4, true], taken.stderr);
      await writeFile(file, MANIFESTS[kind].replace('1.0.0', '1.1.0'));
      await says(/^deployed/, 'deploy', file);
      await says(/^VERSION +DEPLOYED_AT +DESCRIPTION\n1\.1\.0 .*\n1\.0\.0 /, 'versions', 'thing');
      assert.equal((await svc('export', 'thing')).stdout, MANIFESTS[kind].replace('1.0.0', '1.1.0'));
      assert.equal((await svc('versions', 'nobody')).code, 1);
      await says(/^deleted/, 'delete', 'thing', '--force');
    });

  test('lists come in pages', async () => {
    for (const kind of KINDS) {
      const svc = (...args: string[]) => runSvc([kind, ...args], { SVC_URL: node.url });
      for (const name of ['page-a', 'page-b', 'page-c']) {
        const file = join(directory, `${kind}-${name}.yaml`);
        await writeFile(file, MANIFESTS[kind].replace('thing', name));
        assert.equal((await svc('deploy', file)).code, 0);
      }
      const page = await svc('list', '--skip', '1', '--limit', '1', '--output', 'json');
      const listed: { name: string }[] = JSON.parse(page.stdout);
      assert.deepEqual(
        listed.map(({ name }) => name),
        ['page-b'],
      );
      assert.equal((await svc('list', '--skip', '-1')).code, 2);
      for (const name of ['page-a', 'page-b', 'page-c']) await svc('delete', name);
    }
  });

  test('a workflow that is called like another path of the API is warned about, and named on the command line like the others', async () => {
    const svc = (...args: string[]) => runSvc(['workflow', ...args], { SVC_URL: node.url });
    for (const name of someOf(PATH_WORDS, 4)) {
      const file = join(directory, `${name}.yaml`);
      await writeFile(file, MANIFESTS.workflow.replace('thing', name));
      const deployed = await svc('deploy', file);
      assert.match(deployed.stderr, /\.yaml:3:\d+: warning reserved_workflow_name: metadata\.name: /);
      const said = [];
      for (const args of [
        ['show', name],
        ['pause', name],
        ['resume', name],
        ['run', name, '--wait'],
        ['delete', name],
      ]) {
        const { code, stderr } = await svc(...args);
        said.push(code === 0 ? args[0] : stderr);
      }
      assert.deepEqual(said, ['show', 'pause', 'resume', 'run', 'delete'], name);
    }
  });

  test('checker and command line know each path segment that collides with the name of a workflow', () => {
    const words = Object.keys(SURFACE).map((operation) => /^\w+ \/v1\/workflows\/([^/{]+)/.exec(operation)?.[1]);
    const reserved = [...new Set(words.filter((word) => word !== undefined))].sort();
    assert.deepEqual([reserved, reserved], [[...PATH_WORDS], [...CHECKED_WORDS].sort()]);
  });
});
