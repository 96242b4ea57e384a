import assert from 'node:assert/strict';
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { ModelServer } from '../support/model-server.ts';
import { COMPILED } from '../support/program-options.ts';
import { waitUntil } from '../support/wait-until.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** On a machine that has processors for it; where more programs want them it is that many times as long. */
const onceBarMs = (): number => 30_000 * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
const run = promisify(execFile);

/** No key, no setting of this machine: the demo then says that a script answers. */
const ENV = { PATH: process.env.PATH, HOME: process.env.HOME, NODE_NO_WARNINGS: '1', ...COMPILED };

interface Demo {
  readonly child: ChildProcess;
  output(): string;
}

function startDemo(args: readonly string[], env: NodeJS.ProcessEnv = {}): Demo {
  const child = spawn(process.execPath, ['examples/demo.ts', ...args], {
    cwd: ROOT,
    env: { ...ENV, ...env },
    timeout: 400_000,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  }
  return { child, output: () => text };
}

async function endOf({ child }: Demo): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  return child.exitCode;
}

describe('npm run demo', () => {
  let directory = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-demo-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));
  const data = (name: string): string => join(directory, name);

  test('--once runs its agents, shows a rejection and its repair, tool calls and their audit, and ends well in time', async () => {
    const startedAt = performance.now();
    const demo = startDemo(['--once', '--data', data('once')]);
    assert.equal(await endOf(demo), 0, demo.output());
    const tookMs = performance.now() - startedAt;
    const barMs = onceBarMs();
    assert.ok(tookMs < barMs, `${tookMs} ms of ${barMs} ms`);
    const text = demo.output();
    assert.match(text, /^model {2}none: answers come from examples\/agents\/repo-summary\.script\.yaml/m);
    const steps = ['iteration 1 rejected: regex', 'refinement applied', 'iteration 2 started', 'iteration 2 accepted'];
    const places = steps.map((step) => text.indexOf(`repo-summary │ ${step}`));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      text,
    );
    assert.ok(!places.includes(-1), text);
    assert.match(text, /── repo-report: completed[\s\S]*Languages by lines\nTypeScript/);
    assert.match(text, /── repo-summary: completed[\s\S]*# A scripted answer: no model was asked/);
    const calls = text.split('What repo-notes did with tools:\n')[1]?.split('\n\n')[0]?.split('\n');
    assert.deepEqual(calls?.map((line) => line.trim().replaceAll(/ +/g, ' ')).toSorted(), [
      "audit chain: 10 records, checked with the node's public keys: nothing wrong",
      'cmd.run allowed, succeeded',
      'cmd.run denied, CommandNotAllowed',
      'fs.read allowed, succeeded',
      'fs.read denied, PathOutsideBoundary',
      'fs.write allowed, succeeded',
    ]);
    assert.match(text, /asks a person:\n {2}.*approval[\s\S]*signed off by the demo: completed/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
    assert.doesNotMatch(text, /\u001b/, 'no colours outside a terminal');
  });

  test('every command it prints to try next works while it runs', async () => {
    await mkdir(data('its files'), { recursive: true });
    await writeFile(join(data('its files'), 'one.py'), 'def main():\n    return 1\n');
    const demo = startDemo([data('its files'), '--data', data('stays')]);
    try {
      await waitUntil(
        'the demo says what to try',
        () => demo.output().includes('Ctrl-C ends it') || demo.child.exitCode !== null,
        120_000,
      );
      const commands =
        demo
          .output()
          .split('To try next')[1]
          ?.match(/^ {2}\S.*$/gm) ?? [];
      assert.ok(commands.length >= 4, demo.output());
      const expected = [
        /repo|EXECUTION_ID/,
        /RefinementApplied/,
        /1 source files, 2 lines/,
        /^metadata:/m,
        /execution_completed/,
        /PathOutsideBoundary/,
        /SIGN_OFF/,
        /approved/,
      ];
      for (const [index, command] of commands.entries()) {
        if (command.trim().startsWith('curl') && !hasCurl()) continue;
        const { stdout } = await run('sh', ['-c', command.trim()], { cwd: ROOT, env: ENV, timeout: 90_000 });
        assert.match(stdout, expected[index] ?? /./, command);
      }
    } finally {
      demo.child.kill('SIGINT');
    }
    assert.equal(await endOf(demo), 0, demo.output());
  });

  test('a model found in the environment is asked instead of the script, with the files as input', async () => {
    const server = new ModelServer();
    await server.start();
    try {
      const chunks = ['# Demo\n- one\n', '- two\n- three\nRead first: ', 'README.md'];
      // The agent alone, then the agent in the workflow.
      for (let run = 0; run < 2; run += 1) server.script({ chunks, usage: { input: 100, output: 20 } });
      const demo = startDemo(['--once', '--data', data('model')], { OLLAMA_HOST: server.url, SVC_MODEL: 'small' });
      assert.equal(await endOf(demo), 0, demo.output());
      assert.match(demo.output(), /^model {2}small of ollama \(OLLAMA_HOST is set\)$/m);
      assert.match(
        demo.output(),
        /── repo-summary: completed[\s\S]*Read first: README\.md[\s\S]*100 tokens in, 20 out/,
      );
      const asked = server.calls.filter(({ path }) => path.endsWith('/chat/completions'));
      assert.equal(asked.length, 2);
      assert.match(JSON.stringify(asked[0]?.body), /File package\.json/);
    } finally {
      await server.stop();
    }
  });

  test('a missing Ollama is reported, and the script answers', async () => {
    const server = new ModelServer();
    await server.start();
    const url = server.url;
    await server.stop();
    const demo = startDemo(['--once', '--data', data('no-model')], { OLLAMA_HOST: url });
    assert.equal(await endOf(demo), 0, demo.output());
    assert.match(
      demo.output(),
      new RegExp(`^model  none: answers come from .*, since no server answers at ${url}`, 'm'),
    );
  });

  test('a path that is no directory is one line and exit code 1', async () => {
    const demo = startDemo([data('nothing here')]);
    assert.equal(await endOf(demo), 1);
    assert.match(demo.output(), /^demo: PATH: expected a directory, got \S.*\n$/);
  });
});

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
