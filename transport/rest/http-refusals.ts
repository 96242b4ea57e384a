import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import type { WaitingAnswers } from './pipelines.ts';
import { problemBody } from './problem.ts';

/**
 * Refuses, with an error body like that of every other refusal, requests whose HTTP is at fault although Node.js parses it, and
 * those that Node.js would refuse without a body.
 */
export function refuseWrongHttp(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', (_request, socket: Socket) => {
    answerRaw(socket, 'Method Not Allowed', new SvcError('method_not_allowed', 'CONNECT: this server is no proxy'));
  });
  app.addHook('onRequest', async ({ raw }, reply) => {
    const refusal = refusalOf(raw);
    if (refusal === null) return;
    // The connection is closed: a proxy may have mixed up its following requests as well.
    reply.header('connection', 'close');
    throw refusal;
  });
}

function refusalOf({ rawHeaders, headers, httpVersion }: IncomingMessage): SvcError | null {
  // A proxy in front may have routed by the other one of two Host headers. HTTP/1.1 needs one (RFC 9112, 3.2).
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.length === 4 && /^host$/i.test(name));
  if (hosts.length !== 1 && (hosts.length > 1 || httpVersion !== '1.0'))
    return invalidField('host', 'expected one header');
  const { expect, 'transfer-encoding': coding } = headers;
  if (expect !== undefined && !/^100-continue$/i.test(expect))
    return new SvcError('expectation_failed', 'expect: expected 100-continue, or no such header', { field: 'expect' });
  // Node.js passes on what another coding made as if it were the body. In HTTP/1.0 none is known (RFC 9112, 6.1).
  if (coding !== undefined && (httpVersion === '1.0' || !/^chunked$/i.test(coding)))
    return invalidField('transfer-encoding', 'expected only chunked, and HTTP/1.1');
  return null;
}

/** Texts for the codes of the parser of Node.js: the part of the request, and what was expected. */
const PARSER_TEXTS: Readonly<Record<string, string>> = {
  HPE_INVALID_METHOD: 'method: expected a method of HTTP/1.1; a client that speaks TLS or HTTP/2 needs another port',
  HPE_INVALID_URL: 'path: expected one without spaces and control characters',
  HPE_INVALID_VERSION: 'version: expected HTTP/1.1',
  HPE_INVALID_CONTENT_LENGTH: 'content-length: expected one whole number',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'content-length: expected once, and not beside transfer-encoding',
  HPE_INVALID_TRANSFER_ENCODING: 'transfer-encoding: expected chunked, and no content-length',
  HPE_INVALID_CHUNK_SIZE: 'chunk size: expected a hexadecimal number',
  HPE_INVALID_HEADER_TOKEN: 'headers: expected lines "name: value" without control characters',
};

interface ParserError extends Error {
  readonly code?: string;
}

function fromParser(code: string | undefined): [reason: string, error: SvcError] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return ['Request Header Fields Too Large', new SvcError('headers_too_large')];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['Request Timeout', new SvcError('request_timed_out')];
    default: {
      const text = PARSER_TEXTS[code ?? ''];
      const message = text === undefined ? 'the request is not valid HTTP' : `the request is not valid HTTP: ${text}`;
      return ['Bad Request', new SvcError('invalid_argument', message)];
    }
  }
}

/**
 * Answers connections whose data never became a request: invalid HTTP, too large headers, a client that sends too slowly. An earlier
 * request of the same connection gets its own answer first.
 */
export function answerParserErrors(waiting: WaitingAnswers): (error: ParserError, socket: Socket) => void {
  const failed = new WeakSet<Socket>();
  return (error, socket) => {
    const open = waiting.of(socket);
    const answer = (): void => answerRaw(socket, ...fromParser(error.code));
    // More data behind the error, or an answer that has begun: nothing that is sent could be understood.
    if (error.code === 'ECONNRESET' || failed.has(socket) || open?.last.headersSent === true) {
      socket.destroy();
      return;
    }
    failed.add(socket);
    if (open === undefined || (open.count === 1 && !open.last.req.complete)) answer();
    else afterAnswer(open.last, answer);
  };
}

/** Waits for the answer to a complete request. A request whose body is at fault gets no other answer, so it is not awaited. */
function afterAnswer(last: ServerResponse, answer: () => void): void {
  if (last.req.complete) last.once('close', answer);
  else last.req.socket.destroy();
}

function answerRaw(socket: Socket, reason: string, problem: SvcError): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(problemBody(problem, 'coded'));
  const head = [
    `HTTP/1.1 ${problem.row.http} ${reason}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroySoon());
}
