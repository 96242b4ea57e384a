import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { restServer } from './rest-server.ts';

const HOST = 'Host: localhost\r\n';
const GARBAGE = '\0 is no method\r\n\r\n';

/** Sends bytes and returns what arrives until the server closes the connection. */
async function answersTo(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.write(bytes, 'latin1');
  return await text(socket);
}

const statuses = (answers: string): string[] =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);

/** The body of the last answer. */
const bodyOf = (answers: string): { readonly error: string; readonly message: string } =>
  JSON.parse(answers.slice(answers.lastIndexOf('\r\n\r\n') + 4));

describe('HTTP that a server refuses', () => {
  it('an expectation that it does not know is 417 with the body of every error, and what was expected', async () => {
    await using at = await restServer();
    const sent = (value: string) => `GET /health HTTP/1.1\r\n${HOST}Connection: close\r\nExpect: ${value}\r\n\r\n`;
    for (const value of ['x', '200-ok', '100-continue, x']) {
      const answers = await answersTo(at.port, sent(value));
      assert.equal(statuses(answers).at(-1), '417', value);
      assert.deepEqual(bodyOf(answers), {
        error: 'expectation_failed',
        message: 'expect: expected 100-continue, or no such header',
      });
    }
    assert.deepEqual(statuses(await answersTo(at.port, sent('100-Continue'))), ['100', '200']);
  });

  it('CONNECT is 405 with a body', async () => {
    await using at = await restServer();
    const answers = await answersTo(at.port, `CONNECT a.example:443 HTTP/1.1\r\n${HOST}\r\n`);
    assert.deepEqual(statuses(answers), ['405']);
    assert.deepEqual(bodyOf(answers), { error: 'method_not_allowed', message: 'CONNECT: this server is no proxy' });
  });

  it('a transfer coding beside chunked is 400 by its name: its bytes are not read as the body', async () => {
    await using at = await restServer();
    const head = `POST /v1/executions HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`;
    const answers = await answersTo(at.port, `${head}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`);
    assert.deepEqual(statuses(answers), ['400']);
    assert.match(answers, /"transfer-encoding: expected only chunked, and HTTP\/1\.1"/);
  });

  it('the error of a request that is no HTTP names its part and what was expected there', async () => {
    await using at = await restServer();
    const head = `POST /v1/executions HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`;
    for (const [sent, expected] of [
      [GARBAGE, /: method: expected/],
      [`GET / HTTP/7.1\r\n${HOST}\r\n`, /: version: expected HTTP\/1\.1/],
      [`${head}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`, /: content-length: expected once/],
      [`${head}Content-Length: -2\r\n\r\n{}`, /: content-length: expected one whole number/],
      [
        `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        /: (content-length|transfer-encoding): expected/,
      ],
      [`${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`, /: chunk size: expected a hexadecimal number/],
      [`GET /health HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`, /: headers: expected/],
    ] as const) {
      const answers = await answersTo(at.port, sent);
      assert.deepEqual(statuses(answers), ['400'], sent);
      assert.match(bodyOf(answers).message, expected, sent);
    }
  });

  it('a request gets its own answer before the error of what is sent behind it', async () => {
    await using at = await restServer();
    const body = JSON.stringify({ agent_id: await at.deployed(), input: 'hi' });
    const start = `POST /v1/executions HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const answers = await answersTo(at.port, `${start}${GARBAGE}`);
    assert.deepEqual(statuses(answers), ['200', '400']);
    assert.equal(at.executions.starts.length, 1);
    assert.deepEqual(statuses(await answersTo(at.port, `${start}${start}${GARBAGE}`)), ['200', '200', '400']);
  });

  it('an event stream whose client sends no HTTP is cut, without another answer in the middle of it', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    const socket = connect(at.port, '127.0.0.1').on('error', () => {});
    let received = '';
    let isClosed = false;
    socket.setEncoding('latin1').on('data', (chunk) => {
      received += chunk;
    });
    socket.on('close', () => {
      isClosed = true;
    });
    socket.write(`GET /v1/executions/${id}/stream HTTP/1.1\r\n${HOST}\r\n`);
    at.executions.emit(id, 'iteration_started', { execution_id: id });
    await waitUntil('the first event', () => received.includes('iteration_started'));
    socket.write(GARBAGE);
    await waitUntil('the end of the connection', () => isClosed);
    assert.deepEqual(statuses(received), ['200']);
    assert.equal((await at.call('GET', '/health')).status, 200);
  });
});
