import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { createClient } from '../../clients/typescript/client.ts';
import { freePort } from '../support/free-port.ts';
import { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFollowedRun } from './followed-run.ts';

const PACKAGE = resolve('clients/python/src');
/** `.ci/run` makes the first; a machine may have its own. */
const PYTHONS = [process.env.SVC_TEST_PYTHON ?? '', '.cache/python-client/bin/python', 'python3'];
const FITS = 'import sys, httpx; sys.exit(sys.version_info < (3, 11))';
const python = PYTHONS.find((one) => one !== '' && spawnSync(one, ['-c', FITS]).status === 0);

const WITHOUT =
  'THE PYTHON CLIENT IS NOT TESTED: there is no Python 3.11 with httpx here. Set SVC_TEST_PYTHON to one, or: ' +
  'python3 -m venv .cache/python-client && .cache/python-client/bin/pip install httpx';

const SETTINGS = `apiVersion: svc.dev/v1
kind: NodeConfig
spec:
  llm_providers: [{ name: script, type: scripted, script: SCRIPT, models: [{ alias: default, model: script }] }]
`;
const SCRIPT = `rules:
  - reply: { text: "${Array.from({ length: 30 }, (_piece, n) => `piece${n}`).join(' ')}", chunks: 30, delay_ms: 50 }
`;
const AGENT = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: slow, version: "1.0.0" }
spec:
  task: { instruction: Answer slowly. }
`;

if (python === undefined) console.warn(WITHOUT);

describe('the Python client', { skip: python === undefined ? WITHOUT : false }, () => {
  let directory: string;
  let node: NodeProcess;
  let url: string;
  const env = { ...process.env, PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1' };

  async function check(name: string, ...args: readonly string[]): Promise<unknown> {
    const all = ['test/clients/python_checks.py', name, ...args];
    return JSON.parse((await promisify(execFile)(python ?? '', all, { env, timeout: 60_000 })).stdout);
  }

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-python-'));
    await writeFile(join(directory, 'script.yaml'), SCRIPT);
    await writeFile(join(directory, 'svc.yaml'), SETTINGS.replace('SCRIPT', join(directory, 'script.yaml')));
    const places = ['--data', join(directory, 'data'), '--config', join(directory, 'svc.yaml')];
    node = new NodeProcess([...places, '--http-port', String(await freePort()), '--internal-port', '0']);
    node.spawn();
    url = await node.url;
  });
  after(async () => {
    await node.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('has a type for each object of the API, and each can be read', async () => {
    assert.ok(Number(await check('types')) > 100);
  });

  test('the example deploys a workflow, runs it, follows it, and shows why a cancel is refused', async () => {
    const args = ['examples/clients/run_workflow.py', 'examples/workflows/data-job/workflow.yaml', 'data-job'];
    const { stdout } = await promisify(execFile)(python ?? '', args, {
      env: { ...env, SVC_URL: url },
      timeout: 300_000,
    });
    assertFollowedRun(stdout);
  });

  for (const kind of ['cuts', 'async_cuts'])
    test(`a stream resumes by itself after each kind of cut, with no event lost or doubled: ${kind}`, async () => {
      assert.deepEqual(await check(kind), { seen: [1, 2, 3, 4, 5], after: [null, '2', '2', '2', '3', '4', '5'] });
    });

  test('a stream that cannot go on raises what ended it', async () => {
    assert.deepEqual(await check('ends'), [
      ['ConnectError', null],
      ['ConnectError', null],
      ['SvcApiError', 404],
      ['StreamCutError', 7],
      ['AccessEndedError', 0],
    ]);
  });

  test('writes and reads bytes; a refusal is an error with status, code and text', async () => {
    const { read, refused } = Object(await check('bytes_and_refusals', url));
    assert.deepEqual(read, [0, 255, 13, 10]);
    assert.deepEqual(refused.slice(0, 3), [404, null, 'execution not found']);
    assert.match(refused[3], /^id: expected a value for the path/);
  });

  test('a stream goes on after kill -9 of its node, with no event lost or doubled', async () => {
    const svc = createClient({ baseUrl: url });
    const { agent_id } = await svc.agents.deploy({ body: AGENT });
    const { execution_id: id } = await svc.executions.start({ agent_id, input: 'now' });
    const follower = spawn(python ?? '', ['test/clients/python_checks.py', 'follow', url, id], { env });
    const whole = text(follower.stdout);
    let seen = '';
    follower.stderr.on('data', (piece: Buffer) => {
      seen += piece.toString();
    });
    await waitUntil('the follower reads', () => seen.includes('event 5'));
    await node.kill();
    node.spawn();
    await node.url;
    const { ids, last, status } = JSON.parse(await whole);
    assert.deepEqual(
      ids,
      ids.map((_id: number, index: number) => index + 1),
    );
    assert.deepEqual([last, status], ['execution_completed', 'completed'], seen);
  });
});
