import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { fetchFrom, serve, webOver } from './page-server.ts';

describe('over TLS', () => {
  let directory: string;
  let key: string;
  let cert: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-web-tls-'));
    const at = (name: string) => join(directory, name);
    const subject = ['-subj', '/CN=page.example', '-addext', 'subjectAltName=DNS:page.example', '-days', '2'];
    const made = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      at('key'),
      '-out',
      at('cert'),
    ];
    execFileSync('openssl', ['req', '-x509', ...made, ...subject], { stdio: 'ignore' });
    [key, cert] = await Promise.all([readFile(at('key'), 'utf8'), readFile(at('cert'), 'utf8')]);
  });
  after(async () => rm(directory, { recursive: true, force: true }));

  /** A real TLS server; answers with the name that the client asked for. */
  async function serveTls(location?: string) {
    const server = createServer({ key, cert }, (request, response) => {
      const name = request.socket instanceof TLSSocket ? String(request.socket.servername) : '';
      if (location !== undefined) response.writeHead(302, { location });
      response.end(`${name} ${request.headers.host}`);
    });
    server.listen(0, '127.0.0.2');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return {
      port,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      },
    };
  }

  const resolve = async (): Promise<readonly string[]> => ['127.0.0.2'];

  test('over TLS the name is sent and its certificate checked, although the connection goes to the checked address', async () => {
    await using server = await serveTls();
    const web = webOver({}, { resolve, ca: cert });
    const { text } = await fetchFrom(web, `https://page.example:${server.port}/`);
    assert.equal(text, `page.example page.example:${server.port}`);
    const other = fetchFrom(web, `https://other.example:${server.port}/`);
    await assert.rejects(other, { code: 'unavailable', message: /ERR_TLS_CERT_ALTNAME_INVALID/ });
    const untrusted = fetchFrom(webOver({}, { resolve }), `https://page.example:${server.port}/`);
    await assert.rejects(untrusted, { code: 'unavailable', message: /SELF_SIGNED/ });
  });

  test('over TLS a redirect to plain HTTP is refused', async () => {
    await using plain = await serve((_, response) => response.end('plain'));
    await using server = await serveTls(`http://page.example:${plain.port}/`);
    const web = webOver({}, { resolve, ca: cert });
    await assert.rejects(fetchFrom(web, `https://page.example:${server.port}/`), {
      ...{ code: 'forbidden', message: /from https to http/ },
    });
    assert.deepEqual(plain.asked, []);
  });
});
