import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { svc } from '../cli/svc-run.ts';
import { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { fencesOf, page } from './pages.ts';

const AGENT = 'docs/quickstart/first-agent.md';
const WORKFLOW = 'docs/quickstart/first-workflow.md';
const ACTOR = 'docs/quickstart/first-actor.md';
const TYPESCRIPT = 'clients/typescript/README.md';
const PYTHON = 'clients/python/README.md';
const WHY = 'docs/guides/why-did-my-run-do-that.md';

const python = [process.env.SVC_TEST_PYTHON ?? '', '.cache/python-client/bin/python', 'python3'].find(
  (one) => one !== '' && spawnSync(one, ['-c', 'import sys, httpx; sys.exit(sys.version_info < (3, 11))']).status === 0,
);

/** A step needs one page: everything that it uses stands there. */
function standsIn(file: string, ...used: readonly string[]): void {
  const { text } = page(file);
  assert.deepEqual(
    used.filter((one) => !text.includes(one)),
    [],
    file,
  );
}

/** The first hour of a user, each step from one page, on a node that has what the first page says. */
describe('the first hour', () => {
  const began = performance.now();
  let directory: string;
  let node: NodeProcess;
  let env: NodeJS.ProcessEnv;

  const at = (name: string): string => join(directory, name);
  const run = (...args: readonly string[]) => svc(args, env);
  const program = (command: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    promisify(execFile)(command, args, { env: { ...process.env, ...env, ...more }, timeout: 60_000 });

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-first-hour-'));
    for (const { info, text } of [AGENT, WORKFLOW].flatMap((file) => fencesOf(page(file)))) {
      if (!info.startsWith('file=')) continue;
      const file = at(info.slice('file='.length));
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text.replace('script: first/', `script: ${directory}/first/`));
    }
    node = new NodeProcess(['--data', at('data'), '--config', at('first/svc.yaml'), '--internal-port', '0']);
    node.spawn();
    env = { SVC_URL: await node.url };
  });
  after(async () => {
    await node.stop();
    await rm(directory, { recursive: true, force: true });
    console.log(`the first hour took a machine ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  });

  test('an agent of my own', async () => {
    standsIn(AGENT, 'run first/haiku.yaml --input rain', 'run haiku --input rain');
    assert.match((await run('run', at('first/haiku.yaml'), '--input', 'rain')).stdout, /^Rain on the tin roof\n/);
  });

  test('a workflow of my own, with an approval', async () => {
    standsIn(
      WORKFLOW,
      'workflow deploy first/publish.yaml',
      'workflow run publish',
      'approval list',
      'approval approve',
    );
    assert.equal((await run('workflow', 'deploy', at('first/publish.yaml'))).code, 0);
    const id = (await run('workflow', 'run', 'publish', '--input', '{"product": "svc"}')).stdout.trim();
    const approval = await waitUntil('the approval is listed', async () => {
      const { stdout } = await run('approval', 'list');
      return stdout.includes(id) && /^[0-9a-f-]{36}/m.exec(stdout)?.[0];
    });
    assert.match((await run('workflow', 'status', id)).stdout, new RegExp(approval), 'it names its approval');
    assert.equal((await run('approval', 'approve', approval)).code, 0);
    await waitUntil('it is published', async () => (await run('workflow', 'status', id)).stdout.includes('completed'));
  });

  test('an actor of my own', async () => {
    standsIn(ACTOR, 'examples/actors/counter.ts');
    const { stdout } = await program(process.execPath, ['examples/actors/counter.ts', at('actors')]);
    assert.equal(stdout, '2\n');
  });

  const MAIN_JOB = ['examples/workflows/data-job/workflow.yaml', 'data-job'];
  test('a program of my own in TypeScript', async () => {
    standsIn(TYPESCRIPT, 'svc.workflows.run({ name, input: {} }, { idempotencyKey: ');
    const { stdout } = await program(process.execPath, ['examples/clients/run-workflow.ts', ...MAIN_JOB]);
    assert.match(stdout, /\nWorkflowExecutionCompleted\ncompleted \d states\n/);
  });

  const without = python === undefined && 'THE FIRST HOUR IN PYTHON IS NOT TESTED: no Python 3.11 with httpx';
  test('a program of my own in Python', { skip: without }, async () => {
    standsIn(PYTHON, 'pip install', 'svc.workflows.run(name=name');
    const path = { PYTHONPATH: resolve('clients/python/src'), PYTHONDONTWRITEBYTECODE: '1' };
    const { stdout } = await program(python ?? '', ['examples/clients/run_workflow.py', ...MAIN_JOB], path);
    assert.match(stdout, / WorkflowExecutionCompleted\ncompleted \d states\n/);
  });

  test('why a run failed', async () => {
    standsIn(WHY, 'svc why RUN');
    const broken = (await fencesOf(page(AGENT)).find(({ info }) => info === 'file=first/haiku.yaml'))?.text ?? '';
    await writeFile(
      at('broken.yaml'),
      broken.replace('name: haiku', 'name: broken').replace('model: default', 'model: defalt'),
    );
    const { code, stderr } = await run('run', at('broken.yaml'), '--input', 'rain');
    assert.equal(code, 10);
    assert.match(stderr, /broken\.yaml:\d+:\d+: warning unknown_model: .*"defalt"; did you mean "default"\?/);
    const id = /^execution ([0-9a-f-]{36})$/m.exec(stderr)?.[1] ?? assert.fail(stderr);
    assert.match((await run('why', id)).stdout, /No model has the alias "defalt"/);
  });
});
