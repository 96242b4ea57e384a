import type { Server } from 'node:http';
import { type ServerTls, TlsFront } from '../tls.ts';

/**
 * Puts TLS in front of an HTTP server: connections that it accepts reach its own handling once they are secure. It listens,
 * closes and counts connections as before.
 */
export function speakTls(server: Server, tls: ServerTls): void {
  const serve = server.listeners('connection');
  server.removeAllListeners('connection');
  const front = new TlsFront(tls, 'http/1.1', (socket) => {
    for (const handle of serve) Reflect.apply(handle, server, [socket]);
  });
  server.on('connection', (socket) => front.accept(socket));
  server.once('close', () => front.close());
}
