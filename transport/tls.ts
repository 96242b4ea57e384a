import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type SecureVersion, type Server, type TLSSocket } from 'node:tls';
import type { Certificate } from '../security/api.ts';

/** What an address shows that speaks TLS, and what it asks of clients. */
export interface ServerTls {
  /** With an authority (`ca`) clients must show a certificate that it signed. */
  readonly certificate: Certificate;
  readonly minVersion: SecureVersion;
}

/** A client has this long to agree on keys. */
const HANDSHAKE_MS = 10_000;

/**
 * TLS for connections that were accepted and counted elsewhere: `secured` gets each once it is encrypted. A certificate that
 * is replaced counts for connections made from then on. Who speaks no TLS, or shows no certificate where one is asked for,
 * is cut off: nothing was asked yet, so nothing is to be answered.
 */
export class TlsFront {
  readonly #server: Server;
  readonly #stop: () => void;

  constructor(tls: ServerTls, protocol: 'http/1.1' | 'h2', secured: (socket: TLSSocket) => void) {
    const isAsked = tls.certificate.current.ca !== null;
    this.#server = createServer({
      ...optionsOf(tls),
      ALPNProtocols: [protocol],
      handshakeTimeout: HANDSHAKE_MS,
      ...(isAsked ? { requestCert: true, rejectUnauthorized: true } : {}),
    });
    this.#server.on('secureConnection', secured);
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#stop = tls.certificate.onChange(() => this.#server.setSecureContext(optionsOf(tls)));
  }

  accept(socket: Socket): void {
    this.#server.emit('connection', socket);
  }

  close(): void {
    this.#stop();
  }
}

/** Ciphers are those of Node.js, which leave out what is known to be weak. */
function optionsOf({ certificate, minVersion }: ServerTls): SecureContextOptions {
  const { cert, key, ca } = certificate.current;
  return { cert, key, minVersion, honorCipherOrder: true, ...(ca === null ? {} : { ca }) };
}

/**
 * Puts TLS in front of an HTTP server: connections that it accepts reach its own handling once they are secure. It listens,
 * closes and counts connections as before.
 */
export function speakTls(server: HttpServer, tls: ServerTls): void {
  const serve = server.listeners('connection');
  server.removeAllListeners('connection');
  const front = new TlsFront(tls, 'http/1.1', (socket) => {
    for (const handle of serve) Reflect.apply(handle, server, [socket]);
  });
  server.on('connection', (socket) => front.accept(socket));
  server.once('close', () => front.close());
}
