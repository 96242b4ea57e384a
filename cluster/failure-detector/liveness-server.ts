import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

interface LivenessServerOptions extends NodeIncarnation {
  readonly host: string;
  /** Default 0: the system picks a free port. */
  readonly port?: number;
  readonly warn: (message: string, error: unknown) => void;
}

export interface LivenessServer {
  /** As bound; other nodes use `advertisedHost`. */
  readonly host: string;
  readonly port: number;
  /**
   * Closes the server and all connections. Peers then consider this incarnation dead, so a node that stops in order leaves the
   * fleet first.
   */
  close(): Promise<void>;
}

const CONNECTIONS = 1_000;

/**
 * Connections of one address: three nodes watch each node, and many nodes may share an address. The rest is for other
 * addresses.
 */
const CONNECTIONS_OF_ADDRESS = CONNECTIONS / 4;

const KEEP_ALIVE_MS = 15_000;

/** Sends the handshake to each client, then nothing: the open connection is the information. */
export async function startLivenessServer(options: LivenessServerOptions): Promise<LivenessServer> {
  const sockets = new Set<Socket>();
  const addresses = new Map<string, number>();
  const handshake = handshakeOf(options);
  const server = createServer({ keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS, noDelay: true }, (socket) => {
    const address = socket.remoteAddress ?? '';
    const ofAddress = addresses.get(address) ?? 0;
    if (ofAddress >= CONNECTIONS_OF_ADDRESS) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    addresses.set(address, ofAddress + 1);
    socket.on('close', () => {
      sockets.delete(socket);
      const left = (addresses.get(address) ?? 1) - 1;
      if (left > 0) addresses.set(address, left);
      else addresses.delete(address);
    });
    // The client is gone.
    socket.on('error', () => socket.destroy());
    socket.on('data', () => {
      // Clients send nothing.
      if (socket.bytesRead > HANDSHAKE_LIMIT_BYTES) socket.destroy();
    });
    socket.write(handshake);
  });
  server.maxConnections = CONNECTIONS;
  server.listen(options.port ?? 0, options.host);
  await once(server, 'listening');
  server.on('error', (error) => options.warn('the liveness server failed', error));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the liveness server has no port');
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

/** One incarnation of a node, as in its handshake. */
export interface NodeIncarnation {
  readonly node: string;
  readonly incarnation: string;
}

/** Maximum length of the handshake line. */
export const HANDSHAKE_LIMIT_BYTES = 400;

const HANDSHAKE = /^svc-pulse 1 ([^\s]{1,128}) ([^\s]{1,128})$/;

/** The handshake line, the only data on a connection. */
export const handshakeOf = ({ node, incarnation }: NodeIncarnation): string => `svc-pulse 1 ${node} ${incarnation}\n`;

/** Null unless it is a handshake line of this version. */
export function parseHandshake(line: string): NodeIncarnation | null {
  const [, node, incarnation] = HANDSHAKE.exec(line) ?? [];
  return node === undefined || incarnation === undefined ? null : { node, incarnation };
}
