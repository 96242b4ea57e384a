import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { HELLO_LIMIT_BYTES, helloOf, type Life } from './hello.ts';

export interface PulseServerOptions extends Life {
  readonly host: string;
  /** Default 0: a free one that the system picks. */
  readonly port?: number;
  readonly warn: (message: string, error: unknown) => void;
}

export interface PulseServer {
  /** As bound; `advertisedHost` says what to tell others. */
  readonly host: string;
  readonly port: number;
  /**
   * Ends it and every connection. Peers that cannot connect any more take this life for dead, so a node that stops in
   * order leaves first.
   */
  close(): Promise<void>;
}

const CONNECTIONS = 1_000;
const KEEP_ALIVE_MS = 15_000;

/** Says who this is to whoever connects, and then nothing: that the connection stays is all there is to know. */
export async function startPulseServer(options: PulseServerOptions): Promise<PulseServer> {
  const sockets = new Set<Socket>();
  const hello = helloOf(options);
  const server = createServer({ keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Whoever connected is gone; nothing was promised to them.
    socket.on('error', () => socket.destroy());
    socket.on('data', () => {
      // Nobody has anything to say here.
      if (socket.bytesRead > HELLO_LIMIT_BYTES) socket.destroy();
    });
    socket.write(hello);
  });
  server.maxConnections = CONNECTIONS;
  server.listen(options.port ?? 0, options.host);
  await once(server, 'listening');
  server.on('error', (error) => options.warn('the pulse listener failed', error));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the pulse listener has no port');
  return {
    host: bound.address,
    port: bound.port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
