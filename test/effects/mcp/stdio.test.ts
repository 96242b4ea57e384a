import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { code, isAlive, KEY, mcpUnderTest, ours } from './mcp-servers.ts';

const wild = (more: object = {}) => ours('wild', { environment: { KEY: 'secret:KEY' }, ...more });
const signal = new AbortController().signal;

describe('a server that is a program', () => {
  test('crashes in the middle of a call: that call is unavailable, is not sent again, and the server comes back', async () => {
    await using bench = await mcpUnderTest([wild()]);
    await bench.servers.tools();
    const other = bench.call('wild.hang');
    const crash = bench.call('wild.crash');
    await assert.rejects(crash, code('unavailable'));
    await assert.rejects(other, code('unavailable'));
    await bench.until('wild', 'ready');
    assert.match(await bench.text('wild.echo', { text: 'again' }), /^again/);
    const [status] = bench.servers.status();
    assert.equal(status?.restarts, 1);
    const down = bench.logged.filter((line) => line.startsWith('MCP server is down'));
    assert.equal(down.length, 1);
    assert.match(down[0] ?? '', /exit code 3: about to fall over/);
  });

  test('hangs: the call ends at its timeout, the server is notified, and other calls go on', async () => {
    await using bench = await mcpUnderTest([wild()]);
    await bench.servers.tools();
    const hang = bench.call('wild.hang', {}, { timeoutMs: 200 });
    await assert.rejects(hang, code('deadline_exceeded'));
    await waitUntil('the server was told', async () =>
      (await bench.text('wild.echo', { text: 'a' })).endsWith('cancelled=1'),
    );
    assert.equal(bench.servers.status()[0]?.restarts, 0);
  });

  test('the time-out of its settings bounds what a caller asks for', async () => {
    await using bench = await mcpUnderTest([wild({ tool_timeout_seconds: 1 })]);
    await bench.servers.tools();
    await assert.rejects(bench.call('wild.hang', {}, { timeoutMs: 60_000 }), code('deadline_exceeded'));
  });

  test('a cancel reaches it, and the caller gets its own reason', async () => {
    await using bench = await mcpUnderTest([wild()]);
    await bench.servers.tools();
    const stop = new AbortController();
    const reason = new Error('nobody wants it');
    const hang = bench.call('wild.hang', {}, { signal: stop.signal });
    stop.abort(reason);
    await assert.rejects(hang, (error) => error === reason);
    await waitUntil('the server was told', async () =>
      (await bench.text('wild.echo', { text: 'a' })).endsWith('cancelled=1'),
    );
  });

  test('progress is passed on and extends no time-out', async () => {
    await using bench = await mcpUnderTest([wild()]);
    await bench.servers.tools();
    const told: string[] = [];
    const call = bench.call('wild.progress', {}, { timeoutMs: 2_000, onProgress: (text) => told.push(text) });
    await assert.rejects(call, code('deadline_exceeded'));
    assert.deepEqual(told.slice(0, 2), ['step 1', 'step 2']);
  });

  test('a change of its tools is visible to the next caller', async () => {
    await using bench = await mcpUnderTest([wild()]);
    await bench.servers.tools();
    await assert.rejects(bench.call('wild.later'), code('not_found'));
    await bench.call('wild.change', { add: 'later' });
    await waitUntil('the new tool is listed', async () =>
      (await bench.servers.tools()).some(({ tool }) => tool === 'later'),
    );
    assert.equal(await bench.text('wild.later'), 'later was called');
  });

  for (const [tool, why] of [
    ['flood', /more than 65536 bytes/],
    ['spam', /more than 500 messages/],
    ['memory', /more than 200 MiB of memory/],
  ] as const) {
    test(`is ended when it sends or takes too much (${tool})`, async () => {
      const limits = { messageBytes: 64 * 1024, messages: 500 };
      await using bench = await mcpUnderTest([wild({ resource_limits: { memory_mb: 200 } })], limits);
      await bench.servers.tools();
      const pid = Number(await bench.text('wild.pid'));
      await assert.rejects(bench.call(`wild.${tool}`), (error) => error instanceof Error && why.test(error.message));
      await waitUntil('its process is gone', () => !isAlive(pid));
      await bench.until('wild', 'ready');
    });
  }

  test('lines that are no messages are skipped', async () => {
    await using bench = await mcpUnderTest([wild()]);
    await bench.servers.tools();
    assert.equal(await bench.text('wild.garbage'), 'after garbage');
  });

  test('sees nothing of the node but PATH, HOME, LANG and its own settings, and its secrets leak nowhere', async () => {
    process.env.SVC_TEST_LEAK = 'of the node';
    await using bench = await mcpUnderTest([wild({ environment: { KEY: 'secret:KEY', PLAIN: 'plain-text' } })]);
    await bench.servers.tools();
    const { content, structured } = await bench.call('wild.secret');
    const env = structured?.env;
    assert.ok(typeof env === 'object' && env !== null && !Array.isArray(env));
    const own = new Set(['PATH', 'HOME', 'LANG', 'PWD', 'KEY', 'PLAIN', 'SVC_PROGRAM_RUN', 'OLDPWD', 'SHLVL', '_']);
    assert.deepEqual(
      Object.keys(env).filter((name) => !own.has(name)),
      [],
    );
    assert.deepEqual([env.KEY, env.PLAIN], ['[redacted]', 'plain-text']);
    assert.deepEqual(content, [{ type: 'text', text: 'key [redacted]' }]);
    await waitUntil('its standard error was read', () => bench.logged.some((line) => line.includes('my key is')));
    const refused = await bench.call('wild.error');
    assert.equal(refused.isError, true);
    assert.ok(!JSON.stringify([bench.logged, refused]).includes(KEY));
  });

  test('that cannot be found, or lacks a secret, reports that and offers no tool', async () => {
    await using bench = await mcpUnderTest([
      { name: 'missing', executable: 'no-such-program-anywhere' },
      ours('wild', { credentials: { KEY: 'secret:NOWHERE' } }),
      ours('stubborn', { enabled: false }),
    ]);
    assert.deepEqual(await bench.servers.tools(), []);
    const errors = bench.servers.status().map(({ name, status, error }) => [name, status, error?.slice(0, 60)]);
    assert.match(String(errors[0]), /missing,restarting,the program no-such-program-anywhere could not be run/);
    assert.deepEqual(errors[1], ['wild', 'restarting', 'secret:NOWHERE is not set']);
    assert.deepEqual(errors[2], ['stubborn', 'disabled', undefined]);
    await assert.rejects(bench.call('wild.echo'), code('unavailable'));
    await assert.rejects(bench.call('stubborn.pid'), code('not_found'));
    await assert.rejects(bench.call('nobody.pid'), code('not_found'));
  });

  test('that fails its health check is started again', async () => {
    const health_check = { interval_seconds: 1, timeout_seconds: 4 };
    await using bench = await mcpUnderTest([wild({ health_check })]);
    await bench.servers.tools();
    const pid = Number(await bench.text('wild.pid'));
    await bench.call('wild.deaf');
    await bench.until('wild', 'unhealthy');
    assert.deepEqual(await bench.servers.tools(), []);
    await bench.until('wild', 'ready');
    assert.ok(!isAlive(pid));
    assert.notEqual(Number(await bench.text('wild.pid')), pid);
  });

  test('that never answers is given up when its start takes too long, and stops with the node', async () => {
    await using bench = await mcpUnderTest([ours('mute')], { startMs: 300 });
    assert.deepEqual(await bench.servers.tools(), []);
    assert.match(bench.servers.status()[0]?.error ?? '', /timed out/i);
    await using slow = await mcpUnderTest([ours('mute')], { firstToolsMs: 50 });
    assert.deepEqual(await slow.servers.tools(), []);
    assert.equal(slow.servers.status()[0]?.status, 'starting');
  });

  test('is gone after close, with all it started, also when it ignores TERM', async () => {
    const bench = await mcpUnderTest([ours('stubborn'), wild()]);
    await bench.servers.tools();
    const [near, far] = (await bench.text('wild.child')).split(' ').map(Number);
    const pids = [Number(await bench.text('stubborn.pid')), Number(await bench.text('wild.pid')), near ?? 0, far ?? 0];
    assert.deepEqual(pids.map(isAlive), [true, true, true, true]);
    await bench.servers.close();
    await waitUntil('all processes are gone', () => !pids.some(isAlive));
    assert.deepEqual(await readdir(join(bench.workspaces, '.programs')), []);
    await assert.rejects(
      bench.servers.call({ server: 'wild', tool: 'echo', arguments: {}, timeoutMs: 100 }, { signal }),
      code('unavailable'),
    );
    await bench[Symbol.asyncDispose]();
  });
});
