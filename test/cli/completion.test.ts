import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CliNode } from './cli-node.ts';
import { openShell, SHELLS, shellMissing } from './completing-shell.ts';

/** A typed line, and what TAB offers for it. */
const LINES: readonly (readonly [string, readonly string[]])[] = [
  ['svc too', ['tools']],
  ['svc tools ', ['call', 'list', 'search']],
  ['svc --output json tools ', ['call', 'list', 'search']],
  ['svc task list --st', ['--status']],
  ['svc task list --output j', ['json']],
  ['svc tools call svc.runtime', ['svc.runtime.list']],
  ['svc tools call svc.runtime.list --a', ['--args']],
  ['svc tools call svc.runtime.list svc.runtime', []],
  // The value of a flag is no command, whatever its text.
  ['svc --tenant agent tools ', ['call', 'list', 'search']],
  ['svc --tenant tools agent prom', ['promote']],
  // An alias of a command has the flags of the command.
  ['svc workflow describe --ver', ['--version']],
  ['svc agent remove --fo', ['--force']],
];

describe('completion in real shells', () => {
  let setup: CliNode;
  before(async () => {
    setup = await CliNode.open();
  });
  after(() => setup.close());

  for (const shell of SHELLS)
    test(`${shell} completes commands, flags, values, and the names of tools of the node`, {
      skip: shellMissing(shell),
    }, async () => {
      const script = (await setup.svc(['completion', shell])).stdout;
      await using typing = await openShell(shell, script, setup.env);
      for (const [line, offered] of LINES) assert.deepEqual(typing.offers(line), offered, `${shell}: ${line}`);
    });

  test('the scripts of all shells have every command, and no other shell is known', async () => {
    const { svcProgram } = await import('../../cli/program.ts');
    const commands = (await svcProgram()).commands.map((command) => command.name());
    for (const shell of SHELLS) {
      const { code, stdout } = await setup.svc(['completion', shell]);
      assert.equal(code, 0);
      for (const name of commands) assert.ok(stdout.includes(name), `${shell}: ${name}`);
    }
    const other = await setup.svc(['completion', 'tcsh']);
    assert.equal(other.code, 2);
    assert.match(other.stderr, /expected bash, zsh, fish, got tcsh/);
  });

  test('without a node no tool names are offered, and nothing is printed', async (context) => {
    const skip = shellMissing('bash');
    if (skip !== false) return context.skip(skip);
    const script = (await setup.svc(['completion', 'bash'])).stdout;
    await using typing = await openShell('bash', script, { SVC_URL: 'http://127.0.0.1:9' });
    assert.deepEqual(typing.offers('svc tools call svc.'), []);
  });
});
