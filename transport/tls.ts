import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type SecureVersion, type Server, type TLSSocket } from 'node:tls';
import type { Certificate } from '../security/api.ts';

/** Certificate and client requirements of an address with TLS. */
export interface ServerTls {
  /** With an authority (`ca`), clients must present a certificate that it signed. */
  readonly certificate: Certificate;
  readonly minVersion: SecureVersion;
}

/** Longest TLS handshake, ms. */
const HANDSHAKE_MS = 10_000;

/**
 * Adds TLS to connections that were accepted and counted elsewhere; `secured` gets each connection once it is
 * encrypted. A replaced certificate applies to new connections. A client without TLS, or without a required
 * certificate, is disconnected without an answer, since no request has arrived yet.
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

/** TLS options. Ciphers are the defaults of Node.js, which exclude weak ones. */
function optionsOf({ certificate, minVersion }: ServerTls): SecureContextOptions {
  const { cert, key, ca } = certificate.current;
  return { cert, key, minVersion, honorCipherOrder: true, ...(ca === null ? {} : { ca }) };
}

/**
 * Puts TLS in front of an HTTP server: it handles a connection only once the TLS handshake is complete. Listening,
 * closing and counting connections stay the same.
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
