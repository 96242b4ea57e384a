import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/**
 * Below the ports that systems give to connections, and to servers that name none: no one gets one of these by chance
 * while a server is between two lives.
 */
const FIRST = 20_000;
const COUNT = 12_000;
/** So many stay to choose from, however far above the other ports are. */
const LEAST = 2_000;
const ATTEMPTS = 50;

/** A loopback port that no one listens on now, for a server that must be told one or comes back to it; those so much above it are free too. */
export async function freePort(...above: readonly number[]): Promise<number> {
  const count = Math.max(LEAST, COUNT - Math.max(0, ...above));
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = FIRST + Math.floor(Math.random() * count);
    const free = await Promise.all([0, ...above].map((distance) => isFree(port + distance)));
    if (free.every(Boolean)) return port;
  }
  throw new Error(`no free port was found in ${ATTEMPTS} attempts`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/**
 * A loopback port that refuses connections until it is disposed of. A port whose server was closed does not: the system may
 * give it to another server at once. This one belongs to the client's end of an open connection, so no server gets it.
 */
export async function refusingPort(): Promise<{ readonly port: number; [Symbol.dispose](): void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  const [[peer]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')]);
  const { port } = socket.address() as AddressInfo;
  return {
    port,
    [Symbol.dispose]: () => {
      socket.destroy();
      peer.destroy();
      server.close();
    },
  };
}
