import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy on loopback that can lose the answers of a server: what was asked is done, the caller never learns it. */
export interface TcpProxy {
  readonly port: number;
  /** The next bytes from the server are dropped and every connection is cut; resolves when that has happened. */
  loseNextAnswer(): Promise<void>;
  /** Cuts all connections and takes no new ones until `accept`. */
  refuse(): void;
  accept(): void;
  /** Connections from now on go to another server. */
  retarget(port: number): void;
  close(): Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let lose: (() => void) | null = null;
  let refusing = false;
  let target = targetPort;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // A cut connection is this proxy's purpose.
    socket.on('error', () => socket.destroy());
  };
  const server = createServer((client) => {
    track(client);
    if (refusing) {
      client.destroy();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    track(upstream);
    client.pipe(upstream);
    upstream.on('data', (bytes) => {
      if (lose === null) {
        client.write(bytes);
        return;
      }
      lose();
      lose = null;
      cut();
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    port: address.port,
    loseNextAnswer: () =>
      new Promise((resolve) => {
        lose = resolve;
      }),
    refuse() {
      refusing = true;
      cut();
    },
    accept() {
      refusing = false;
    },
    retarget(port) {
      target = port;
    },
    async close() {
      cut();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
