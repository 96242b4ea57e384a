import assert from 'node:assert/strict';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import type { ResourceParts } from '../../../transport/rest/parts.ts';
import { mcpServer } from './mcp-server.ts';

const ISSUERS = ['https://idp.example.com/realms/acme', 'https://idp.example.com/realms/staff'];
const PATH = '/.well-known/oauth-protected-resource';

type Answer = { readonly status: number; readonly challenge: string; readonly text: string };

function send(url: string, method: string, host: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { host, 'content-type': 'application/json' };
    const call = request(url, { method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.once('end', () =>
        resolve({ status: answer.statusCode ?? 0, challenge: String(answer.headers['www-authenticate'] ?? ''), text }),
      );
    });
    call.once('error', reject);
    call.end(method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"ping"}' : undefined);
  });
}

async function at<T>(resource: ResourceParts | undefined, call: (url: string) => Promise<T>): Promise<T> {
  await using setup = await mcpServer(resource === undefined ? {} : { resource });
  return await call(setup.rest.base);
}

describe('protected resource metadata (RFC 9728)', () => {
  it('names resource and issuers, and a 401 of /mcp leads there', async () => {
    await at({ issuers: ISSUERS }, async (url) => {
      const refused = await send(`${url}/mcp`, 'POST', 'svc.example.org:8080');
      assert.equal(refused.status, 401, refused.text);
      const expected = `Bearer realm="svc", resource_metadata="http://svc.example.org:8080${PATH}/mcp"`;
      assert.equal(refused.challenge, expected);
      for (const path of [PATH, `${PATH}/mcp`]) {
        const { status, text } = await send(`${url}${path}`, 'GET', 'svc.example.org:8080');
        assert.equal(status, 200, text);
        assert.deepEqual(JSON.parse(text), {
          resource: 'http://svc.example.org:8080/mcp',
          authorization_servers: ISSUERS,
          bearer_methods_supported: ['header'],
          resource_name: 'svc',
        });
      }
    });
  });

  it('says the public URL of the settings, and no host that is none', async () => {
    const resourceAt = async (host: string, publicUrl?: string): Promise<unknown> =>
      at(
        { issuers: ISSUERS, publicUrl },
        async (url) => JSON.parse((await send(url + PATH, 'GET', host)).text).resource,
      );
    assert.equal(await resourceAt('10.0.0.7', 'https://svc.example.org'), 'https://svc.example.org/mcp');
    for (const host of ['a/b', 'user@evil', 'x"y', '?'])
      assert.equal(await resourceAt(host), 'http://localhost/mcp', host);
  });

  it('is not there on a node that asks for no token', async () => {
    for (const resource of [undefined, { issuers: [] }])
      assert.equal((await at(resource, (url) => send(url + PATH, 'GET', 'localhost'))).status, 404);
  });
});
