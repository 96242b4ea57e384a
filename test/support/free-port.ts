import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/**
 * Below the ports that systems give to connections and to servers without a fixed port, so no other process gets one of
 * these while a server restarts.
 */
const FIRST = 20_000;
const COUNT = 12_000;
/** At least this many ports to choose from, however large `above` is. */
const LEAST = 2_000;
const ATTEMPTS = 50;

/** A free loopback port, for a server that needs a fixed port or comes back to it. The ports at the distances `above` are free too. */
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
