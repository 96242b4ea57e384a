import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { waitUntil } from '../support/wait-until.ts';
import { CliNode } from './cli-node.ts';

describe('svc export-run and svc replay', () => {
  let setup: CliNode;
  let run = '';
  before(async () => {
    setup = await CliNode.open();
    const started = await setup.svc(['task', 'execute', 'echo', '--input', 'refined', '--wait', '--output', 'json']);
    assert.equal(started.code, 0, started.stderr);
    run = JSON.parse(started.stdout).execution_id;
    // The ledger has a delivery within a second of its commit.
    await waitUntil('the recording of the whole run', async () => {
      const { code, stdout } = await setup.svc(['replay', run, '--output', 'json']);
      return code === 0 && JSON.parse(stdout).messages >= 4;
    });
  });
  after(() => setup.close());

  it('replays a run of the node as it was recorded', async () => {
    const { code, stdout, stderr } = await setup.svc(['replay', run]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /every message came out as it was recorded/);
  });

  it('exports a run into one file, whose replay needs no node', async () => {
    const file = setup.file('run.svcrun');
    const exported = await setup.svc(['export-run', run, '-o', file, '--output', 'json']);
    assert.equal(exported.code, 0, exported.stderr);
    const text = gunzipSync(await readFile(file)).toString();
    const head = JSON.parse(text.split('\n')[0] ?? '');
    assert.deepEqual([head.format, head.run.id], ['svc-recording', run]);
    const { code, stdout } = await setup.svc(['--url', 'http://127.0.0.1:1', 'replay', file, '--output', 'json']);
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).equal, true);
  });

  it('names the first message whose replay differs, with exit code 4', async () => {
    const file = setup.file('run.svcrun');
    await setup.svc(['export-run', run, '-o', file]);
    const lines = gunzipSync(await readFile(file))
      .toString()
      .split('\n');
    const start = lines.findIndex((line) => line.includes('"type":"Start"') && line.includes('"delivery":'));
    // As if another version had recorded it: another checksum of the state.
    lines[start] = (lines[start] ?? '').replace(/S[0-9a-z]+"/, 'S1"');
    await writeFile(setup.file('other.svcrun'), lines.join('\n'));
    const { code, stdout, stderr } = await setup.svc(['replay', setup.file('other.svcrun')]);
    assert.equal(code, 4);
    assert.match(stdout, /first difference at .*: state\n/);
    assert.match(stderr, /message [0-9a-f-]+ \(Start\) to execution\/.* differs: state/);
  });

  it('refuses a file that is cut, damaged or no recording, naming the line', async () => {
    const file = setup.file('run.svcrun');
    await setup.svc(['export-run', run, '-o', file]);
    const bytes = await readFile(file);
    const text = gunzipSync(bytes).toString();
    const cases: [Uint8Array | string, RegExp][] = [
      [bytes.subarray(0, bytes.length - 20), /line 1: its compressed text is damaged or cut/],
      [text.slice(0, text.length / 2), /line \d+: expected JSON: the file is damaged or cut/],
      [text.split('\n').slice(0, 3).join('\n'), /line 3: the file ends here without its last line/],
      [gzipSync('{"poem": 1}\n'), /line 1: not a recording of svc/],
      [text.replace('"version":1', '"version":9'), /line 1: version 9 of the format/],
      ['', /line 1: the file is empty/],
    ];
    for (const [content, problem] of cases) {
      await writeFile(setup.file('bad'), content);
      const { code, stderr } = await setup.svc(['replay', setup.file('bad')]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, problem);
    }
  });

  it('refuses an unknown run, and a message that is not in the run', async () => {
    assert.equal((await setup.svc(['replay', '00000000-0000-4000-8000-000000000000'])).code, 1);
    const { code, stderr } = await setup.svc(['replay', run, '--until', 'nothing']);
    assert.equal(code, 1, stderr);
  });

  it('exports no secret that a caller put into its input, and says which actors it cannot replay for that', async () => {
    const canary = 'svc_canary0123456789abcdef';
    const input = JSON.stringify({ api_key: canary, note: `my key is ${canary}` });
    const started = await setup.svc(['task', 'execute', 'echo', '--input', input, '--wait', '--output', 'json']);
    const id = JSON.parse(started.stdout).execution_id;
    const file = setup.file('secret.svcrun');
    await waitUntil('the delivery of the start to be recorded', async () => {
      assert.equal((await setup.svc(['export-run', id, '-o', file])).code, 0);
      return gunzipSync(await readFile(file)).includes('"delivery":');
    });
    assert.equal(gunzipSync(await readFile(file)).includes('canary'), false);
    const { stdout } = await setup.svc(['replay', file]);
    assert.match(
      stdout,
      /not replayed: execution\/.*: from message \S+ \(Start\) on: a secret was taken out of that message/,
    );
  });

  it('replays against the version in another folder', async () => {
    const root = new URL('../..', import.meta.url).pathname;
    const { code, stderr } = await setup.svc(['replay', run, '--against', root]);
    assert.equal(code, 0, stderr);
    assert.equal((await setup.svc(['replay', run, '--against', setup.directory])).code, 1);
  });
});
