import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { CliNode } from './cli-node.ts';

describe('svc tools', () => {
  let setup: CliNode;
  before(async () => {
    setup = await CliNode.open();
  });
  after(() => setup.close());

  const run = (...args: string[]) => setup.svc(['tools', ...args]);

  test('tools are listed, searched and named', async () => {
    assert.match((await run('list')).stdout, /^NAME +SOURCE +SKIP_JUDGE +DESCRIPTION\n/);
    const all: { name: string }[] = JSON.parse((await run('list', '--output', 'json')).stdout);
    const names = (await run('list', '--names')).stdout.trim().split('\n');
    assert.deepEqual(
      names,
      all.map(({ name }) => name),
    );
    assert.ok(names.includes('svc.agent.list') && !names.includes('fs.read'));
    const found: { name: string }[] = JSON.parse((await run('search', 'runtime', '--output', 'json')).stdout);
    assert.ok(found.some(({ name }) => name === 'svc.runtime.list') && found.length < names.length);
  });

  test('a tool is called with arguments from the command line, a file and standard input', async () => {
    const listed = await run('call', 'svc.agent.list');
    assert.equal(listed.code, 0, listed.stderr);
    const { agents }: { agents: { name: string }[] } = JSON.parse(listed.stdout);
    assert.ok(agents.some(({ name }) => name === 'echo'));
    await writeFile(setup.file('args.json'), '{"language": "go"}');
    const fromFile = await run('call', 'svc.runtime.list', '--args', `@${setup.file('args.json')}`);
    const fromInput = await setup.svc(['tools', 'call', 'svc.runtime.list', '--args', '-'], '{"language": "go"}');
    assert.match(fromFile.stdout, /"language":"go"/);
    assert.equal(fromInput.stdout, fromFile.stdout);
    const whole = JSON.parse((await run('call', 'svc.runtime.list', '--output', 'json')).stdout);
    assert.deepEqual([whole.isError, whole.structuredContent.tool], [false, 'svc.runtime.list']);
  });

  test('the exit code says how a call failed', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    const yaml = await setup.svc(['agent', 'export', 'echo']);
    const deploy = JSON.stringify({ manifest_yaml: yaml.stdout });
    const rows: readonly [readonly string[], number, RegExp][] = [
      [['svc.task.status', '--args', `{"execution_id": "${id}"}`], 1, /not_found: execution not found/],
      [['svc.task.status', '--args', '{}'], 2, /svc\.task\.status: execution_id/],
      [['svc.task.status', '--args', '[]'], 2, /--args: expected a JSON object/],
      [['svc.task.status', '--args', 'nonsense'], 2, /--args: expected a JSON object/],
      [['svc.agent.create', '--args', '{"manifest_yaml": "kind: Agent"}'], 2, /invalid_manifest/],
      [['svc.nothing.here'], 3, /it is not offered/],
      [['fs.read', '--args', '{"path": "a"}'], 3, /it is not offered/],
      [['svc.agent.create', '--args', deploy], 4, /conflict: /],
    ];
    for (const [args, code, says] of rows) {
      const result = await run('call', ...args);
      assert.deepEqual([result.code, result.stdout], [code, ''], `${args.join(' ')}: ${result.stderr}`);
      assert.match(result.stderr, says);
    }
  });
});
