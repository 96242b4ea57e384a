import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { SVC_SOURCE, SvcRun, svc } from './svc-run.ts';

/** Writes the packages that a process has loaded to a file when it ends. */
const WATCH = `import { writeFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const seen = new Set();
  registerHooks({
    load(url, context, next) {
      const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1];
      if (name !== undefined) seen.add(name);
      return next(url, context);
    },
  });
  process.on('exit', () => writeFileSync(process.env.SVC_LOADED, [...seen].join(' ')));`;

test('an idle node without a settings file loads no library for YAML, tokens, schemas, templates or patterns', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-modules-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const [watch, loaded] = [join(directory, 'watch.mjs'), join(directory, 'loaded')];
  await writeFile(watch, WATCH);
  const flags = ['--http-port', '0', '--grpc-port', '0', '--data', join(directory, 'data')];
  // The source, since the files of the tests hold the packages.
  const run = new SvcRun(['start', ...flags], { NODE_OPTIONS: `--import ${watch}`, SVC_LOADED: loaded }, SVC_SOURCE);
  await waitUntil('the node listens', () => /^SvcRuntime /m.test(run.stdout) || run.child.exitCode !== null, 60_000);
  run.child.kill('SIGTERM');
  assert.equal((await run.end()).code, 0, run.stderr);
  const names = (await readFile(loaded, 'utf8')).split(' ');
  assert.ok(names.includes('zod'));
  const late = ['yaml', 'jose', 'ajv', 'handlebars', 're2js', 'diff'];
  assert.deepEqual(
    names.filter((name) => late.includes(name)),
    [],
  );
});

const SAY_FETCH = `data:text/javascript,process.on('exit',()=>process.stderr.write(
  process.moduleLoadList.filter((name)=>name.includes('undici')).join()))`.replaceAll(/\s/g, '');

test('a command that calls the node loads no fetch', async (t) => {
  const node = createServer((_request, response) => response.end('{"agents":[]}')).listen(0, '127.0.0.1');
  await once(node, 'listening');
  t.after(() => node.close());
  const address = node.address();
  assert.ok(address !== null && typeof address === 'object');
  const args = ['--url', `http://127.0.0.1:${address.port}`, 'agent', 'list'];
  const { code, stderr } = await svc(args, { NODE_OPTIONS: `--import ${SAY_FETCH}` });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
});
