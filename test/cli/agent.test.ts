import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { CliNode } from './cli-node.ts';

describe('svc agent', () => {
  let setup: CliNode;
  before(async () => {
    setup = await CliNode.open();
  });
  after(() => setup.close());

  test('deploys from standard input, lists, shows and deletes', async () => {
    const manifest = (await readFile(setup.file('echo.yaml'), 'utf8')).replace('name: echo', 'name: other');
    const deployed = await setup.svc(['agent', 'deploy', '-', '--output', 'json'], manifest);
    assert.equal(deployed.code, 0, deployed.stderr);
    const { agent_id: id } = JSON.parse(deployed.stdout);

    const listed = await setup.svc(['agent', 'list']);
    assert.match(listed.stdout, /^NAME +VERSION +STATUS +SCOPE +AGENT_ID/);
    assert.match(listed.stdout, new RegExp(`other +1\\.0\\.0 +deployed +tenant +${id}`));

    const shown = await setup.svc(['--output', 'yaml', 'agent', 'show', 'other']);
    assert.equal(parse(shown.stdout).manifest.metadata.name, 'other');
    assert.match((await setup.svc(['agent', 'show', id])).stdout, /^agent_id +\S+\n(.|\n)*^apiVersion: svc\.dev\/v1$/m);
    assert.match((await setup.svc(['agent', 'logs', 'other'])).stdout, /AgentDeployed/);

    assert.equal((await setup.svc(['agent', 'delete', 'other'])).code, 0);
    assert.equal((await setup.svc(['agent', 'show', 'other'])).code, 1);
  });

  test('exports what was deployed, byte for byte', async () => {
    const exported = await setup.svc(['agent', 'export', 'echo']);
    assert.equal(exported.stdout, await readFile(setup.file('echo.yaml'), 'utf8'));
  });

  test('the same version again is a conflict, unless it is forced', async () => {
    const again = await setup.svc(['agent', 'deploy', setup.file('echo.yaml')]);
    assert.deepEqual([again.code, again.stdout], [4, '']);
    assert.match(again.stderr, /^svc: .*echo.*1\.0\.0.*exists/);
    assert.equal((await setup.svc(['agent', 'deploy', setup.file('echo.yaml'), '--force'])).code, 0);
  });

  test('a wrong manifest is exit code 2 with a line for each problem', async () => {
    const wrong = await setup.svc(
      ['agent', 'deploy', '-'],
      'apiVersion: svc.dev/v1\nkind: Agent\nmetadata: { name: A }\n',
    );
    assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
    assert.match(wrong.stderr, /^ {2}standard input:3:\d+: metadata\.name: /m);
    assert.match(wrong.stderr, /^ {2}standard input:3:\d+: metadata\.version: /m);
    const checked = await setup.svc(
      ['agent', 'validate', '-'],
      'apiVersion: svc.dev/v1\nkind: Agent\nmetadata: { name: A }\n',
    );
    assert.equal(checked.code, 2, checked.stderr);
    assert.match(checked.stdout, /^standard input:3:\d+: error form: metadata\.name: .*\n {4}\S/m);
    const right = await setup.svc(['agent', 'validate', setup.file('echo.yaml')]);
    assert.deepEqual([right.code, /valid, 0 errors, 0 warnings\n$/.test(right.stdout)], [0, true], right.stdout);
  });

  test('a file that is not there is exit code 2 and names it', async () => {
    const missing = await setup.svc(['agent', 'deploy', setup.file('nothing.yaml')]);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /^svc: FILE: the file \S+nothing\.yaml cannot be read \(ENOENT\)\n$/);
  });
});
