import type { Socket } from 'node:net';
import { SvcError } from '../../runtime/errors.ts';
import { problemBody } from './problem.ts';

interface ParserError extends Error {
  readonly code?: string;
}

function fromParser(code: string | undefined): [reason: string, error: SvcError] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return ['Request Header Fields Too Large', new SvcError('headers_too_large')];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['Request Timeout', new SvcError('request_timed_out')];
    default:
      return ['Bad Request', new SvcError('invalid_argument', 'the request is not valid HTTP')];
  }
}

/** Answers what never became a request: broken HTTP, too large headers, a client that sends too slowly. */
export function answerSocketError(error: ParserError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [reason, problem] = fromParser(error.code);
  const body = JSON.stringify(problemBody(problem, 'coded'));
  const head = [
    `HTTP/1.1 ${problem.row.http} ${reason}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroySoon());
}
