import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { API_VERSION } from '../../manifests/metadata.ts';
import { waitUntil } from '../support/wait-until.ts';
import { SVC_SOURCE, SvcRun } from './svc-run.ts';

describe('svc start', () => {
  let directory = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-start-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  async function started(env: NodeJS.ProcessEnv): Promise<SvcRun> {
    const flags = ['--http-port', '0', '--grpc-port', '0', '--data', join(directory, 'data')];
    const run = new SvcRun(['start', ...flags], env, SVC_SOURCE);
    await waitUntil('the node listens', () => /^SvcRuntime /m.test(run.stdout) || run.child.exitCode !== null, 60_000);
    assert.equal(run.child.exitCode, null, run.stderr);
    return run;
  }

  test('compiled code is kept where only its user may write', async () => {
    const run = await started({ TMPDIR: directory });
    run.child.kill('SIGINT');
    assert.equal((await run.end()).code, 0);
    const found = await stat(join(directory, `svc-compile-cache-${userInfo().uid}`));
    assert.equal(found.mode & 0o777, 0o700);
  });

  test('a sandbox that cannot be made as the settings require ends the start with one line that names the setting', async () => {
    const config = join(directory, 'shared.yaml');
    const spec = { runtime: { host_commands: { paths: [{ path: '/no/such/directory' }] } } };
    await writeFile(config, JSON.stringify({ apiVersion: API_VERSION, kind: 'NodeConfig', spec }));
    const flags = ['--http-port', '0', '--grpc-port', '0', '--data', join(directory, 'refused'), '--config', config];
    const { code, stdout, stderr } = await new SvcRun(['start', ...flags], {}, SVC_SOURCE).end();
    const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":30'));
    const why = 'spec.runtime.host_commands.paths: /no/such/directory does not exist on this node';
    assert.deepEqual({ code, stdout, lines }, { code: 2, stdout: '', lines: [`svc: ${why}`] });
  });

  test('a start whose stores cannot be closed either ends with its first error', async () => {
    const run = await started({});
    run.child.kill('SIGTERM');
    assert.equal((await run.end()).code, 0);
    const database = new DatabaseSync(join(directory, 'data', 'actors.db'));
    database.exec(`CREATE TRIGGER refuse BEFORE INSERT ON facts BEGIN SELECT RAISE(FAIL, 'no write'); END`);
    database.close();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    assert.ok(address !== null && typeof address === 'object');
    const flags = ['--http-port', String(address.port), '--grpc-port', '0', '--data', join(directory, 'data')];
    const { code, stderr } = await new SvcRun(['start', ...flags], {}, SVC_SOURCE).end();
    taken.close();
    assert.match(stderr, /^svc: .*EADDRINUSE.*choose another port/m);
    assert.equal(code, 4);
    const after = new DatabaseSync(join(directory, 'data', 'actors.db'));
    after.exec('DROP TRIGGER refuse');
    after.close();
  });

  test('a killed node leaves its compiled code to its restart', async () => {
    const own = await mkdtemp(join(directory, 'killed-'));
    const run = await started({ TMPDIR: own });
    const path = join(own, `svc-compile-cache-${userInfo().uid}`);
    // It is written once, when the node begins to serve, which is also when the node prints its address.
    await waitUntil('the compiled code of the node and its libraries', async () => {
      const files = await readdir(path, { recursive: true });
      return files.length > 500;
    });
    run.child.kill('SIGKILL');
    await run.end();
  });
});
