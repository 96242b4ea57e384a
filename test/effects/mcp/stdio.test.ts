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
    await using setup = await mcpUnderTest([wild()]);
    await setup.servers.tools();
    const other = setup.call('wild.hang');
    const crash = setup.call('wild.crash');
    await assert.rejects(crash, code('unavailable'));
    await assert.rejects(other, code('unavailable'));
    await setup.until('wild', 'ready');
    assert.match(await setup.text('wild.echo', { text: 'again' }), /^again/);
    const [status] = setup.servers.status();
    assert.equal(status?.restarts, 1);
    const down = setup.logged.filter((line) => line.startsWith('MCP server is down'));
    assert.equal(down.length, 1);
    assert.match(down[0] ?? '', /exit code 3: about to fall over/);
  });

  test('hangs: the call ends at its timeout, the server is notified, and other calls go on', async () => {
    await using setup = await mcpUnderTest([wild()]);
    await setup.servers.tools();
    const hang = setup.call('wild.hang', {}, { timeoutMs: 200 });
    await assert.rejects(hang, code('deadline_exceeded'));
    await waitUntil('the server received the cancel', async () =>
      (await setup.text('wild.echo', { text: 'a' })).endsWith('cancelled=1'),
    );
    assert.equal(setup.servers.status()[0]?.restarts, 0);
  });

  test('the timeout of its settings is the upper bound of the timeout that a caller asks for', async () => {
    await using setup = await mcpUnderTest([wild({ tool_timeout_seconds: 1 })]);
    await setup.servers.tools();
    await assert.rejects(setup.call('wild.hang', {}, { timeoutMs: 60_000 }), code('deadline_exceeded'));
  });

  test('a cancel is sent to it, and the caller gets the reason of the cancel', async () => {
    await using setup = await mcpUnderTest([wild()]);
    await setup.servers.tools();
    const stop = new AbortController();
    const reason = new Error('the caller has left');
    const hang = setup.call('wild.hang', {}, { signal: stop.signal });
    stop.abort(reason);
    await assert.rejects(hang, (error) => error === reason);
    await waitUntil('the server received the cancel', async () =>
      (await setup.text('wild.echo', { text: 'a' })).endsWith('cancelled=1'),
    );
  });

  test('progress is passed on and does not extend the timeout', async () => {
    await using setup = await mcpUnderTest([wild()]);
    await setup.servers.tools();
    const told: string[] = [];
    const call = setup.call('wild.progress', {}, { timeoutMs: 2_000, onProgress: (text) => told.push(text) });
    await assert.rejects(call, code('deadline_exceeded'));
    assert.deepEqual(told.slice(0, 2), ['step 1', 'step 2']);
  });

  test('a change of its tools is visible to the next caller', async () => {
    await using setup = await mcpUnderTest([wild()]);
    await setup.servers.tools();
    await assert.rejects(setup.call('wild.later'), code('not_found'));
    await setup.call('wild.change', { add: 'later' });
    await waitUntil('the new tool is listed', async () =>
      (await setup.servers.tools()).some(({ tool }) => tool === 'later'),
    );
    assert.equal(await setup.text('wild.later'), 'later was called');
  });

  for (const [tool, why] of [
    ['flood', /more than 65536 bytes$/],
    ['spam', /more than 500 messages in 10000 ms$/],
    ['memory', /more than 200 MiB of memory/],
  ] as const) {
    test(`is ended when it sends too much or uses too much memory (${tool})`, async () => {
      const limits = { messageBytes: 64 * 1024, messages: 500 };
      await using setup = await mcpUnderTest([wild({ resource_limits: { memory_mb: 200 } })], limits);
      await setup.servers.tools();
      const pid = Number(await setup.text('wild.pid'));
      await assert.rejects(setup.call(`wild.${tool}`), (error) => error instanceof Error && why.test(error.message));
      await waitUntil('its process is gone', () => !isAlive(pid));
      await setup.until('wild', 'ready');
    });
  }

  test('lines that are no messages are skipped', async () => {
    await using setup = await mcpUnderTest([wild()]);
    await setup.servers.tools();
    assert.equal(await setup.text('wild.garbage'), 'after garbage');
  });

  test('gets only PATH, HOME, LANG and its own settings from the node, and its secrets are in no answer and no log', async () => {
    process.env.SVC_TEST_LEAK = 'of the node';
    await using setup = await mcpUnderTest([wild({ environment: { KEY: 'secret:KEY', PLAIN: 'plain-text' } })]);
    await setup.servers.tools();
    const { content, structured } = await setup.call('wild.secret');
    delete process.env.SVC_TEST_LEAK;
    const env = structured?.env;
    assert.ok(typeof env === 'object' && env !== null && !Array.isArray(env));
    const own = new Set(['PATH', 'HOME', 'LANG', 'PWD', 'KEY', 'PLAIN', 'SVC_PROGRAM_RUN', 'OLDPWD', 'SHLVL', '_']);
    assert.deepEqual(
      Object.keys(env).filter((name) => !own.has(name)),
      [],
    );
    assert.deepEqual([env.KEY, env.PLAIN], ['[redacted]', 'plain-text']);
    assert.deepEqual(content, [{ type: 'text', text: 'key [redacted]' }]);
    await waitUntil('its standard error was read', () => setup.logged.some((line) => line.includes('my key is')));
    const refused = await setup.call('wild.error');
    assert.equal(refused.isError, true);
    assert.ok(!JSON.stringify([setup.logged, refused]).includes(KEY));
  });

  test('that cannot be found, or lacks a secret, reports that and offers no tool', async () => {
    await using setup = await mcpUnderTest([
      { name: 'missing', executable: 'no-such-program-anywhere' },
      ours('wild', { credentials: { KEY: 'secret:NOWHERE' } }),
      ours('stubborn', { enabled: false }),
    ]);
    assert.deepEqual(await setup.servers.tools(), []);
    const errors = setup.servers.status().map(({ name, status, error }) => [name, status, error?.slice(0, 60)]);
    assert.match(String(errors[0]), /missing,restarting,the program no-such-program-anywhere could not be run/);
    assert.deepEqual(errors[1], ['wild', 'restarting', 'secret:NOWHERE is not set']);
    assert.deepEqual(errors[2], ['stubborn', 'disabled', undefined]);
    await assert.rejects(setup.call('wild.echo'), code('unavailable'));
    await assert.rejects(setup.call('stubborn.pid'), code('not_found'));
    await assert.rejects(setup.call('nobody.pid'), code('not_found'));
  });

  test('that fails its health check is started again', async () => {
    const health_check = { interval_seconds: 1, timeout_seconds: 4 };
    await using setup = await mcpUnderTest([wild({ health_check })]);
    await setup.servers.tools();
    const pid = Number(await setup.text('wild.pid'));
    await setup.call('wild.deaf');
    await setup.until('wild', 'unhealthy');
    assert.deepEqual(await setup.servers.tools(), []);
    await setup.until('wild', 'ready');
    assert.ok(!isAlive(pid));
    assert.notEqual(Number(await setup.text('wild.pid')), pid);
  });

  test('that does not answer within the time of a start offers no tool, and its status is an error', async () => {
    await using setup = await mcpUnderTest([ours('mute')], { startMs: 300 });
    assert.deepEqual(await setup.servers.tools(), []);
    assert.match(setup.servers.status()[0]?.error ?? '', /timed out/i);
    await using slow = await mcpUnderTest([ours('mute')], { firstToolsMs: 50 });
    assert.deepEqual(await slow.servers.tools(), []);
    assert.equal(slow.servers.status()[0]?.status, 'starting');
  });

  test('has ended after close, with all processes that it started, also when it ignores TERM', async () => {
    const setup = await mcpUnderTest([ours('stubborn'), wild()]);
    await setup.servers.tools();
    const [near, far] = (await setup.text('wild.child')).split(' ').map(Number);
    const pids = [Number(await setup.text('stubborn.pid')), Number(await setup.text('wild.pid')), near ?? 0, far ?? 0];
    assert.deepEqual(pids.map(isAlive), [true, true, true, true]);
    await setup.servers.close();
    await waitUntil('all processes are gone', () => !pids.some(isAlive));
    assert.deepEqual(await readdir(join(setup.workspaces, '.programs')), []);
    await assert.rejects(
      setup.servers.call({ server: 'wild', tool: 'echo', arguments: {}, timeoutMs: 100 }, { signal }),
      code('unavailable'),
    );
    await setup[Symbol.asyncDispose]();
  });
});
