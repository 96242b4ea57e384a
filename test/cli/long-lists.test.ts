import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { listed } from '../../cli/list-pages.ts';
import { NodeClient } from '../../cli/node-client.ts';
import { waitUntil } from '../support/wait-until.ts';
import { CliNode } from './cli-node.ts';

describe('lists that are longer than a page', () => {
  let setup: CliNode | undefined;
  const at = (): CliNode => {
    if (setup === undefined) throw new Error('the node was not started');
    return setup;
  };
  const client = () => new NodeClient({ url: at().url });
  before(async () => {
    setup = await CliNode.open();
    const manifest = (n: number) =>
      `apiVersion: svc.dev/v1\nkind: Agent\nmetadata: {name: other-${n}, version: "1.0.0"}\nspec:\n  task: {instruction: do it}\n`;
    for (let n = 0; n < 4; n += 1)
      await client().json('POST', '/v1/agents', { body: { type: 'application/yaml', text: manifest(n) } });
    for (let n = 0; n < 5; n += 1) assert.equal((await at().svc(['task', 'execute', 'echo', '--input', 'x'])).code, 0);
    // Lists may be 250 ms behind a start and an end, so two reads in a row may differ until all five have ended.
    await waitUntil('five ended executions in the list', async () => {
      const { executions } = await client().json('GET', '/v1/executions', { query: { status: 'completed' } });
      return Array.isArray(executions) && executions.length === 5;
    });
  });
  after(() => setup?.close());

  test('each list over REST gives a token, and the pages behind each other are the list', async () => {
    const lists = [
      ['/v1/agents', 'agents'],
      ['/v1/workflows', 'workflows'],
      ['/v1/executions', 'executions'],
      ['/v1/workflows/executions', 'executions'],
      ['/v1/human-approvals', 'pending_requests'],
      ['/v1/stimuli', 'stimuli'],
      ['/v1/volumes', 'volumes'],
      ['/v1/seal/sessions', 'sessions'],
      ['/v1/api-keys', 'keys'],
      ['/v1/cortex/patterns', 'patterns'],
    ] as const;
    const long: string[] = [];
    for (const [path, name] of lists) {
      const whole = (await client().json('GET', path))[name];
      assert.ok(Array.isArray(whole), path);
      const parts: unknown[] = [];
      for (let token: string | undefined, pages = 0; pages <= whole.length; pages += 1) {
        const answer = await client().json('GET', path, { query: { limit: '2', page_token: token } });
        const some: unknown = answer[name];
        if (Array.isArray(some)) parts.push(...some);
        token = typeof answer.next_page_token === 'string' ? answer.next_page_token : undefined;
        if (token === undefined) break;
      }
      assert.deepEqual(parts, whole, path);
      if (whole.length > 2) long.push(path);
      const refused = client().json('GET', path, { query: { page_token: 'bm8' } });
      await assert.rejects(refused, /page_token/, path);
    }
    assert.deepEqual(long, ['/v1/agents', '/v1/executions']);
  });

  test('a token beside an offset is refused by name', async () => {
    const { next_page_token: token } = await client().json('GET', '/v1/agents', { query: { limit: '2' } });
    const both = { limit: '2', skip: '2', page_token: String(token) };
    await assert.rejects(
      client().json('GET', '/v1/agents', { query: both }),
      /page_token: expected no skip or offset beside it/,
    );
  });

  test('--limit may be more than a node answers at once: svc asks for the rest', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://node');
      asked.push(url.search);
      const from = Number(url.searchParams.get('page_token') ?? 0);
      const agents = [from, from + 1, from + 2].filter((n) => n < 8).map((n) => ({ name: `${n}` }));
      const next = from + 3 < 8 ? { next_page_token: `${from + 3}` } : {};
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ agents, ...next }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const node = new NodeClient({ url: `http://127.0.0.1:${address.port}` });
    const names = async (limit?: string) =>
      (await listed(node, '/v1/agents', 'agents', { limit, skip: '0' })).map(({ name }) => name).join('');
    assert.deepEqual([await names('7'), await names('100'), await names()], ['0123456', '01234567', '012']);
    assert.ok(
      asked.every((search) => !(search.includes('skip') && search.includes('page_token'))),
      asked.join(' '),
    );
    server.close();
  });
});
