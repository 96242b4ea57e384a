import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { markedProcesses } from '../../../effects/programs/process-table.ts';
import type { Sandbox } from '../../../effects/programs/sandbox.ts';
import { NEEDS_SANDBOX } from '../../support/needs-sandbox.ts';
import { sandboxFor } from '../../support/sandbox.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { code, mcpUnderTest, ours } from './mcp-servers.ts';

const SERVERS = { path: fileURLToPath(new URL('servers', import.meta.url)) };
const SECRET = 'key-of-the-node';

describe('a server in the sandbox of commands', { ...NEEDS_SANDBOX, timeout: 300_000 }, () => {
  let directory = '';
  let sandbox: Sandbox;
  let listener: Server;
  let port = 0;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-mcp-sandbox-'));
    await writeFile(join(directory, 'key.pem'), SECRET, { mode: 0o644 });
    const opened = await sandboxFor(join(directory, 'workspaces'), { hidden: [directory] });
    assert.ok(opened.sandbox !== null, opened.reason);
    sandbox = opened.sandbox;
    listener = createServer((socket) => socket.end(SECRET)).unref();
    await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done));
    const address = listener.address();
    port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  });
  after(async () => {
    listener?.close();
    await rm(directory, { recursive: true, force: true });
  });

  const SEEN = () => ({
    key: `cat ${directory}/key.pem`,
    listener: `perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); connect(S, sockaddr_in(${port}, inet_aton("127.0.0.1"))) and print <S>'`,
    processes: `cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c SVC_TEST_NODE`,
    user: 'id -u',
    place: 'pwd; touch here && ls; echo $HOME',
  });

  async function looks(
    setup: Awaited<ReturnType<typeof mcpUnderTest>>,
  ): Promise<Record<keyof ReturnType<typeof SEEN>, string>> {
    const found = Object.entries(SEEN()).map(async ([name, script]) => [
      name,
      await setup.text('curious.sh', { script }),
    ]);
    return Object.fromEntries(await Promise.all(found));
  }

  test('a sandboxed MCP server sees its own directory, and no file, process or listener of the node', async () => {
    process.env.SVC_TEST_NODE = 'x';
    await using setup = await mcpUnderTest([ours('curious', { paths: [SERVERS] })], {}, sandbox);
    const tools = await setup.servers.tools();
    assert.equal(tools.length, 1, setup.logged.join('\n'));
    const { key, listener: said, processes, user, place } = await looks(setup);
    delete process.env.SVC_TEST_NODE;
    assert.ok(![key, said].join().includes(SECRET), key + said);
    assert.match(key, /No such file/);
    assert.deepEqual([processes.trim(), user.trim()], ['0', '1000']);
    assert.equal(place, '/workspace\nhere\n/workspace\n');
  });

  test('a sandboxed MCP server sees what its settings name: a network, or all that the node sees', async () => {
    await using open = await mcpUnderTest([ours('curious', { paths: [SERVERS], network: 'host' })], {}, sandbox);
    await open.servers.tools();
    const { key, listener: said } = await looks(open);
    assert.match(key, /No such file/);
    assert.equal(said, SECRET);
    await using off = await mcpUnderTest([ours('curious', { sandbox: 'off' })], {}, sandbox);
    await off.servers.tools();
    assert.equal((await looks(off)).key, SECRET);
  });

  test('a sandboxed MCP server reports in its status a path that does not exist or belongs to the node', async () => {
    const inside = { path: join(directory, 'key.pem') };
    const settings = [ours('curious', { paths: [{ path: '/not/there' }] }), ours('wild', { paths: [SERVERS, inside] })];
    await using setup = await mcpUnderTest(settings, {}, sandbox);
    assert.deepEqual(await setup.servers.tools(), []);
    assert.deepEqual(
      setup.servers.status().map(({ error }) => error),
      [
        '/not/there does not exist on this node',
        `${inside.path} is in a directory of the node that no program may see`,
      ],
    );
  });

  test('a sandboxed MCP server has the crash handling, limits and end of one outside, and leaves no process or file', async () => {
    const wild = ours('wild', { paths: [SERVERS], resource_limits: { memory_mb: 200 } });
    const setup = await mcpUnderTest([wild, ours('stubborn', { paths: [SERVERS] })], {}, sandbox);
    await setup.servers.tools();
    await assert.rejects(setup.call('wild.crash'), code('unavailable'));
    await setup.until('wild', 'ready');
    assert.match(
      setup.logged.find((line) => line.startsWith('MCP server is down')) ?? '',
      /exit code 3: about to fall/,
    );
    await assert.rejects(setup.call('wild.memory'), (error) => /200 MiB/.test(String(error)));
    await setup.until('wild', 'ready');
    await setup.text('wild.child');
    const runs = (await readdir(join(setup.workspaces, '.programs'))).flatMap(
      (name) => name.match(/mcp-[0-9a-f-]+/) ?? [],
    );
    const left = () => runs.flatMap((run) => markedProcesses(run));
    assert.equal(runs.length, 2);
    assert.ok(left().length >= 5);
    await setup.servers.close();
    await waitUntil('all processes are gone', () => left().length === 0);
    assert.deepEqual(await readdir(join(setup.workspaces, '.programs')), []);
    await setup[Symbol.asyncDispose]();
  });
});
