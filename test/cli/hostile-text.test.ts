import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { CliNode } from './cli-node.ts';
import { svc } from './svc-run.ts';

const SVC = join(import.meta.dirname, '..', '..', 'cli', 'svc.ts');
/** Clears the screen, renames the window, hides the text that follows and reverses the order of letters. */
const EVIL = '\u001b[2J\u001b]0;owned\u0007 pay \u009b8m\u202e001\u202c';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const STEERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

/** Makes a program believe that its standard output is a terminal of 80 columns. */
const TERMINAL = {
  NODE_OPTIONS: '--import=data:text/javascript,process.stdout.isTTY=true;process.stdout.columns=80',
  TERM: 'xterm',
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const COLOUR = /\u001b\[\d+m/g;

const WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: evil, version: 1.0.0, description: "\\e[31mred" }
spec:
  initial_state: gate
  states:
    gate: { kind: Human, prompt: "{{intent}}", transitions: [{ target: fails }] }
    fails: { kind: System, command: "printf '\\\\033[2Jx'; printf '\\\\033[2Jy' >&2; exit 3", transitions: [{ condition: on_success, target: gate }] }
`;

describe('untrusted text on an operator’s terminal', () => {
  let setup: CliNode;
  let run = '';
  let approval = '';
  before(async () => {
    setup = await CliNode.open();
    await writeFile(setup.file('evil.yaml'), WORKFLOW);
    await must(['workflow', 'deploy', setup.file('evil.yaml')]);
    await must(['stimulus', 'route', 'add', 'mail', 'evil']);
    await must(['stimulus', 'send', '--source', 'mail', EVIL]);
    run = await waitUntil('the run waits for a human', async () => {
      const [found] = JSON.parse((await must(['--output', 'json', 'approval', 'list'])) || '[]');
      approval = found?.id ?? '';
      return found?.execution_id;
    });
  });
  after(() => setup.close());

  async function must(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await setup.svc(args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  const looks = (): string[][] => [
    ['approval', 'list'],
    ['workflow', 'list'],
    ['workflow', 'list', '--runs'],
    ['workflow', 'status', run],
    ['workflow', 'logs', run],
    ['stimulus', 'list'],
    ['volume', 'list'],
  ];

  test('moves no cursor, sets no colour and reverses no letters, in every command that shows it', async () => {
    for (const args of looks()) {
      const stdout = await must(args);
      assert.doesNotMatch(stdout, STEERS, args.join(' '));
    }
    assert.match(await must(['approval', 'list']), /pay/);
    await must(['approval', 'reject', approval, '--reason', EVIL]);
    const ended = await setup.svc(['workflow', 'logs', run, '--follow']);
    assert.equal(ended.code, 10);
    assert.doesNotMatch(ended.stdout + ended.stderr, STEERS);
    assert.match(ended.stderr, /ended as failed: command_failed: state fails: the command ended with exit code 3/);
  });

  test('a trace and a diff have their colours on a terminal, and none with NO_COLOR', async () => {
    await writeFile(setup.file('other.yaml'), WORKFLOW.replace('name: evil', 'name: other'));
    for (const args of [
      ['trace', run],
      ['diff', '-f', setup.file('other.yaml')],
    ]) {
      const { stdout, stderr } = await svc(args, { ...setup.env, ...TERMINAL });
      assert.match(stdout, COLOUR, stderr);
      const shown = stdout.replaceAll(COLOUR, '');
      assert.doesNotMatch(shown, STEERS);
      assert.doesNotMatch(shown, /\ufffd\[\d/);
      assert.doesNotMatch((await svc(args, { ...setup.env, ...TERMINAL, NO_COLOR: '1' })).stdout, COLOUR);
    }
  });

  test('is complete in JSON: each of these commands answers JSON with --output json', async () => {
    for (const args of looks()) JSON.parse(await must(['--output', 'json', ...args]));
    const status = JSON.parse(await must(['--output', 'json', 'workflow', 'status', run]));
    assert.equal(status.intent, EVIL);
  });

  test('the log names the state of each event', async () => {
    const log = await must(['workflow', 'logs', run]);
    assert.match(log, /WorkflowStateEntered +gate: entered \(Human\)/);
    assert.match(log, /WorkflowStateExited +fails: failed/);
  });

  test('a full disk behind standard output is one line and exit code 10', async () => {
    const full = openSync('/dev/full', 'w');
    const args = [SVC, '--url', setup.url, 'workflow', 'list'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', full, 'pipe'] });
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const [code] = await once(child, 'close');
    assert.deepEqual([code, said], [10, 'svc: standard output cannot be written (ENOSPC)\n']);
  });
});
