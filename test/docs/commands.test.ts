import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NodeProcess } from '../support/node-process.ts';
import { fencesOf, pages } from './pages.ts';

/** Commands that are shown and not run here, each with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm ci && npm run demo': 'installs; the demo is run by test/examples/demo.test.ts',
  'npm ci': 'installs',
  'curl -s http://127.0.0.1:8080/v1/openapi.json > openapi.json':
    'writes here; test/clients/go.test.ts reads the description',
  'oapi-codegen -generate types,client -package svcclient -o svcclient/client.gen.go openapi.json':
    'needs Go; test/clients/go.test.ts runs it',
  'npm ci && npm test': 'this is that',
  '.ci/run': 'runs all checks, these tests among them',
  'svc audit export SESSION -o chain.json --jwks keys.json': 'needs a session; test/cli/audit.test.ts runs it',
  'svc audit verify chain.json --jwks keys.json': 'needs what export wrote; test/cli/audit.test.ts runs it',
  'svc audit export -o chains.json --jwks keys.json': 'needs records; test/cli/audit.test.ts runs it',
  'svc audit verify chains.json --jwks keys.json': 'needs what export wrote; test/cli/audit.test.ts runs it',
  'svc session calls SESSION': 'needs a session; test/cli/session.test.ts runs it',
  'svc session revoke SESSION': 'needs a session; test/cli/session.test.ts runs it',
  'svc replay RUN': 'needs a run; test/cli/time-machine.test.ts runs it',
  'svc export-run RUN -o run.svcrun': 'needs a run; test/cli/time-machine.test.ts runs it',
  'svc open run.svcrun': 'runs until Ctrl-C; test/cli/open.test.ts runs it',
  "svc fork RUN --at MESSAGE --reason 'the prompt was wrong'": 'needs a run; test/product/fork.test.ts runs it',
  "svc fork --filter status=failed --filter name=nightly --rate 5/s --limit 200 --version 1.4.0 --reason 'fixed in 1.4.0'":
    'needs runs; test/product/fork.test.ts runs it',
  'npm run bench': 'takes minutes; its quick form is for people',
  'npm run chaos -- rolling': 'it takes minutes; small sizes of it are run by test/chaos',
};

/** `run-by=FILE`: a test in this folder runs it. */
const hasOwnTest = (info: string): boolean =>
  info.startsWith('run-by=') && existsSync(join(import.meta.dirname, info.slice('run-by='.length)));

const commands = pages.flatMap(fencesOf).filter(({ language }) => ['sh', 'bash', 'shell'].includes(language));

test('every command that is shown is run, or listed with a reason not to', () => {
  const unknown = commands
    .filter(({ info }) => info !== 'runnable' && !hasOwnTest(info))
    .flatMap(({ text, at }) => linesOf(text).map((line) => ({ line, at })))
    .filter(({ line }) => NOT_RUN[line] === undefined);
  assert.deepEqual(unknown, []);
});

describe('commands marked runnable', () => {
  let directory = '';
  let node: NodeProcess;
  let url = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-docs-'));
    // As the demo's node: relative bootstrap paths start at the checkout.
    const config = {
      apiVersion: 'svc.dev/v1',
      kind: 'NodeConfig',
      spec: { runtime: { bootstrap_dir: resolve('.') } },
    };
    await writeFile(join(directory, 'svc.yaml'), JSON.stringify(config));
    node = new NodeProcess(['--data', join(directory, 'data'), '--config', join(directory, 'svc.yaml')]);
    node.spawn();
    url = await node.url;
  });
  after(async () => {
    await node.stop();
    await rm(directory, { recursive: true, force: true });
  });

  for (const { text, at } of commands.filter(({ info }) => info === 'runnable')) {
    for (const line of linesOf(text)) {
      test(`${at.split(':')[0]}: ${line}`, () => runs(line.replaceAll('http://127.0.0.1:8080', url), url));
    }
  }
});

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, ''))
    .filter((line) => line.trim() !== '');
}

/** A machine without curl gets the same answer another way. */
async function fetches(command: string): Promise<void> {
  const url = /http\S+/.exec(command)?.[0] ?? '';
  assert.equal((await fetch(url)).status, 200, command);
}

const hasCurl = spawnSync('curl', ['--version'], { stdio: 'ignore' }).status === 0;

/** Resolves when the shell ends with 0 and something was printed. */
function runs(command: string, url: string): Promise<void> {
  if (command.startsWith('curl') && !hasCurl) return fetches(command);
  const env = { ...process.env, SVC_URL: url, PATH: `${resolve('node_modules/.bin')}:${process.env.PATH}` };
  return new Promise((done, fail) => {
    execFile('sh', ['-c', command], { env, timeout: 30_000 }, (error, stdout, stderr) => {
      if (error !== null) fail(new Error(`${command} ended with ${error.code}: ${stderr}`));
      else if (stdout.trim() === '') fail(new Error(`${command} printed nothing`));
      else done();
    });
  });
}
