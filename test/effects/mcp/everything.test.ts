import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { freePort } from '../../support/free-port.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { code, everything, everythingFile, type McpUnderTest, mcpUnderTest } from './mcp-servers.ts';

/** The official server over HTTP; it does not accept port 0. */
async function httpServer(port: number): Promise<AsyncDisposable & { readonly url: string }> {
  const child = spawn(process.execPath, [everythingFile, 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await waitUntil(`the server listens on ${port}`, () => said.includes('listening on port'));
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Checks for every transport. */
async function speaks(setup: McpUnderTest): Promise<void> {
  const tools = await setup.servers.tools();
  const names = tools.map(({ tool }) => tool);
  for (const name of ['echo', 'get-sum', 'get-structured-content', 'trigger-long-running-operation']) {
    assert.ok(names.includes(name), name);
  }
  assert.equal(await setup.text('everything.echo', { message: 'hello' }), 'Echo: hello');
  assert.match(await setup.text('everything.get-sum', { a: 2, b: 40 }), /42/);
  const { structured } = await setup.call('everything.get-structured-content', { location: 'Chicago' });
  assert.equal(typeof structured?.temperature, 'number');
  const refused = await setup.call('everything.get-sum', { a: 'two' });
  assert.equal(refused.isError, true);
  const progress: string[] = [];
  const long = { duration: 1, steps: 4 };
  await setup.call('everything.trigger-long-running-operation', long, { onProgress: (text) => progress.push(text) });
  // The last one may come with the result, which is too late.
  assert.deepEqual(progress.slice(0, 3), ['1/4', '2/4', '3/4']);
  const endless = { duration: 60, steps: 2 };
  const late = setup.call('everything.trigger-long-running-operation', endless, { timeoutMs: 300 });
  await assert.rejects(late, code('deadline_exceeded'));
  const stop = new AbortController();
  const stopped = setup.call('everything.trigger-long-running-operation', endless, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await assert.rejects(stopped, /enough/);
  assert.equal(setup.servers.status()[0]?.status, 'ready');
}

describe('the official server', () => {
  test('the official server over stdio: tools, results, structured content, errors, progress, time-out, cancel', async () => {
    await using setup = await mcpUnderTest([everything()]);
    await speaks(setup);
  });

  test('the official server over streamable HTTP: the same, and calls work after its restart', async () => {
    const port = await freePort();
    await using server = await httpServer(port);
    await using setup = await mcpUnderTest([{ name: 'everything', url: server.url, health_check: { method: 'ping' } }]);
    await speaks(setup);
    const pending = assert.rejects(
      setup.call('everything.trigger-long-running-operation', { duration: 60, steps: 2 }),
      code('unavailable'),
    );
    // The first call was sent when a second one is answered.
    await setup.text('everything.echo', { message: 'x' });
    await server[Symbol.asyncDispose]();
    await pending;
    await assert.rejects(setup.call('everything.echo', { message: 'x' }), code('unavailable'));
    await using again = await httpServer(port);
    assert.equal(again.url, server.url);
    await setup.until('everything', 'ready');
    assert.equal(await setup.text('everything.echo', { message: 'back' }), 'Echo: back');
  });
});
