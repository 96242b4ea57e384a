import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freePort } from '../../support/free-port.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { httpServer } from './http-server.ts';
import { BEARER, code, KEY, mcpUnderTest } from './mcp-servers.ts';

const LIMITS = { messageBytes: 100_000 };
const settings = (url: string) => ({
  ...{ name: 'far', url, credentials: { bearer: 'secret:BEARER' }, headers: { 'x-api-key': 'secret:KEY' } },
});

describe('a server behind a URL', () => {
  test('a server behind a URL gets its credentials with every request, and no log shows them', async () => {
    await using server = await httpServer({ bearer: BEARER });
    await using setup = await mcpUnderTest([settings(server.url)], LIMITS);
    assert.equal((await setup.servers.tools()).length, 7);
    assert.equal(await setup.text('far.echo'), 'echo');
    assert.equal((await setup.call('far.endless')).content.length, 0);
    for (const headers of server.seen) {
      assert.deepEqual([headers.authorization, headers['x-api-key']], [`Bearer ${BEARER}`, KEY]);
    }
    assert.ok(!/hunter2|good-news/.test(setup.logged.join('\n')));
  });

  test('a server that refuses the credentials offers no tools, and its status names the reason without them', async () => {
    await using server = await httpServer({ bearer: 'another' });
    await using setup = await mcpUnderTest([settings(server.url)]);
    assert.deepEqual(await setup.servers.tools(), []);
    const [status] = setup.servers.status();
    assert.equal(status?.status, 'restarting');
    assert.match(status?.error ?? '', /not Bearer \[redacted\]/);
  });

  test('a server that redirects to another host: no credentials are sent there', async () => {
    await using elsewhere = await httpServer();
    await using server = await httpServer({ redirect: elsewhere.url });
    await using setup = await mcpUnderTest([settings(server.url)]);
    assert.deepEqual(await setup.servers.tools(), []);
    assert.deepEqual(elsewhere.seen, []);
  });

  for (const tool of ['large', 'large-event', 'broken', 'nonsense']) {
    test(`a server that answers wrongly (${tool}) ends that call at once, and is connected again`, async () => {
      await using server = await httpServer();
      await using setup = await mcpUnderTest([settings(server.url)], LIMITS);
      await setup.servers.tools();
      await assert.rejects(setup.call(`far.${tool}`), code('unavailable'));
      await setup.until('far', 'ready');
      assert.equal(await setup.text('far.echo'), 'echo');
      assert.equal(server.methods.filter((method) => method === 'initialize').length, 2);
      // Sent once: a request is never repeated without the caller.
      assert.equal(server.methods.filter((method) => method === 'tools/call').length, 2);
    });
  }

  test('a server that is busy for a moment keeps its session', async () => {
    await using server = await httpServer();
    await using setup = await mcpUnderTest([settings(server.url)]);
    await setup.servers.tools();
    await assert.rejects(setup.call('far.busy'), code('unavailable'));
    assert.equal(await setup.text('far.echo'), 'echo');
    assert.equal(setup.servers.status()[0]?.restarts, 0);
  });

  test('a server that forgets its sessions gets a new one', async () => {
    await using server = await httpServer();
    await using setup = await mcpUnderTest([settings(server.url)]);
    await setup.servers.tools();
    server.forget();
    await assert.rejects(setup.call('far.echo'), code('unavailable'));
    await waitUntil('a new session', () => setup.servers.status()[0]?.status === 'ready');
    assert.equal(await setup.text('far.echo'), 'echo');
  });

  test('a server without a listener is tried again until it has one', async () => {
    const port = await freePort();
    await using setup = await mcpUnderTest([settings(`http://127.0.0.1:${port}/mcp`)]);
    assert.deepEqual(await setup.servers.tools(), []);
    assert.match(setup.servers.status()[0]?.error ?? '', /ECONNREFUSED/);
    await waitUntil('several attempts', () => (setup.servers.status()[0]?.restarts ?? 0) >= 3);
    await using _server = await httpServer({ port });
    await waitUntil('the server to be in use', () => setup.servers.status()[0]?.status === 'ready');
    assert.equal(await setup.text('far.echo'), 'echo');
  });
});
