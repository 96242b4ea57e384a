import { connect } from 'node:net';

const PROBE_TIMEOUT_MS = 3_000;

/** Null when somebody accepts a TCP connection at `host:port`, else why not. */
export function probe(endpoint: string, timeoutMs: number = PROBE_TIMEOUT_MS): Promise<string | null> {
  const colon = endpoint.lastIndexOf(':');
  const host = endpoint.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(endpoint.slice(colon + 1));
  if (port > 65_535) return Promise.resolve('no such port');
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (answer: string | null): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => end(`no answer within ${timeoutMs / 1_000} s`));
    socket.once('connect', () => end(null));
    socket.once('error', (error) => end('code' in error ? String(error.code) : error.message));
  });
}
