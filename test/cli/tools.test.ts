import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CliScene } from './scene.ts';

const CLI = join(import.meta.dirname, '..', '..', 'cli', 'svc.ts');

describe('svc tools and svc completion', () => {
  let scene: CliScene;
  before(async () => {
    scene = await CliScene.open();
  });
  after(() => scene.close());

  const run = (...args: string[]) => scene.svc(['tools', ...args]);

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
    await writeFile(scene.file('args.json'), '{"language": "go"}');
    const fromFile = await run('call', 'svc.runtime.list', '--args', `@${scene.file('args.json')}`);
    const fromInput = await scene.svc(['tools', 'call', 'svc.runtime.list', '--args', '-'], '{"language": "go"}');
    assert.match(fromFile.stdout, /"language":"go"/);
    assert.equal(fromInput.stdout, fromFile.stdout);
    const whole = JSON.parse((await run('call', 'svc.runtime.list', '--output', 'json')).stdout);
    assert.deepEqual([whole.isError, whole.structuredContent.tool], [false, 'svc.runtime.list']);
  });

  test('how a call fails is its exit code', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    const yaml = await scene.svc(['agent', 'export', 'echo']);
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

  test('bash completes commands, flags, values, and the names of tools as the node knows them', async () => {
    const script = (await scene.svc(['completion', 'bash'])).stdout;
    const completed = (...words: string[]): string[] => {
      const line = words.map((word) => `'${word}'`).join(' ');
      const ask = `svc() { "${process.execPath}" "${CLI}" "$@"; }\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _svc\n`;
      const { stdout, stderr } = spawnSync(
        'bash',
        ['--norc', '--noprofile', '-c', `${script}\n${ask}printf '%s\\n' "\${COMPREPLY[@]}"`],
        {
          env: { PATH: process.env.PATH, NODE_NO_WARNINGS: '1', ...scene.env },
          encoding: 'utf8',
        },
      );
      assert.equal(stderr, '');
      return stdout.split('\n').filter((word) => word !== '');
    };
    assert.deepEqual(completed('svc', 'too'), ['tools']);
    assert.deepEqual(completed('svc', '--output', 'json', 'tools', ''), ['list', 'search', 'call']);
    assert.deepEqual(completed('svc', 'task', 'list', '--st'), ['--status']);
    assert.deepEqual(completed('svc', 'task', 'list', '--output', 'j'), ['json']);
    assert.deepEqual(completed('svc', 'tools', 'call', 'svc.runtime'), ['svc.runtime.list']);
    assert.deepEqual(completed('svc', 'tools', 'call', 'svc.runtime.list', '--a'), ['--args']);
  });

  test('the scripts of all shells have every command, and no other shell is known', async () => {
    const { svcProgram } = await import('../../cli/program.ts');
    const commands = svcProgram().commands.map((command) => command.name());
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, stdout } = await scene.svc(['completion', shell]);
      assert.equal(code, 0);
      for (const name of commands) assert.ok(stdout.includes(name), `${shell}: ${name}`);
    }
    const other = await scene.svc(['completion', 'tcsh']);
    assert.equal(other.code, 2);
    assert.match(other.stderr, /expected bash, zsh, fish, got tcsh/);
  });
});
