import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type VolumesUnderTest, volumesUnderTest } from '../effects/volumes/volumes-under-test.ts';
import { restServer } from '../transport/rest/rest-server.ts';
import { type SvcResult, svc } from './svc-run.ts';

let setup: VolumesUnderTest;
let at: Awaited<ReturnType<typeof restServer>>;

before(async () => {
  setup = await volumesUnderTest();
  at = await restServer({ volumes: setup.volumes });
});
after(async () => {
  await at[Symbol.asyncDispose]();
  await setup[Symbol.asyncDispose]();
});

const run = (args: readonly string[], input = ''): Promise<SvcResult> =>
  svc(['volume', ...args], { SVC_URL: at.base }, input);

test('a volume is created, filled, read, listed, shown and deleted by name', async () => {
  const created = await run(['create', 'data', '--size-mb', '1']);
  assert.deepEqual([created.code, created.stderr], [0, '']);
  assert.match(created.stdout, /^created volume [0-9a-f-]{36}\n$/);
  assert.equal((await run(['create', 'data'])).code, 4);

  const file = join(setup.directory, 'a file');
  await writeFile(file, Buffer.from([0, 255, 10, 13]));
  assert.equal((await run(['put', 'data', file])).stdout, 'wrote 4 bytes to /a file\n');
  assert.equal((await run(['put', 'data', '-', 'dir/text'], 'from a pipe')).code, 0);
  assert.equal((await run(['put', 'data', '-'], 'x')).code, 2);
  const copy = join(setup.directory, 'copy');
  assert.equal((await run(['get', 'data', 'a file', copy])).code, 0);
  assert.deepEqual([...(await readFile(copy))], [0, 255, 10, 13]);
  assert.equal((await run(['get', 'data', 'dir/text'])).stdout, 'from a pipe');
  assert.match((await run(['ls', 'data'])).stdout, /file +4 .*a file\ndirectory +0 .*dir\n$/);
  assert.equal((await run(['get', 'data', '../x'])).code, 3);

  assert.match((await run(['list'])).stdout, /^NAME .*\ndata +[0-9a-f-]{36} +persistent +15 +1048576 +-\n$/);
  assert.equal(JSON.parse((await run(['show', 'data', '--output', 'json'])).stdout).used_bytes, 15);
  assert.equal((await run(['delete', 'data'])).code, 0);
  const gone = await run(['show', 'data']);
  assert.deepEqual([gone.code, gone.stderr], [1, 'svc: there is no volume data\n']);
});
