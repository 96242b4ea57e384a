import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type LivenessServer, startLivenessServer } from '../../cluster/failure-detector/liveness-server.ts';

/** The liveness port of a node in this process, behind a proxy that counts, cuts and can redirect connections. */
export interface LivenessFront {
  readonly port: number;
  /** Connections that are open now. */
  open(): number;
  /** Connections that have passed a hello. */
  greeted(): number;
  cutAll(): void;
  /** Sends new connections to another process of the node. */
  become(incarnation: string): Promise<void>;
  close(): Promise<void>;
}

const warn = (message: string, error: unknown): never => {
  throw new Error(message, { cause: error });
};

export async function startLivenessFront(node: string, incarnation: string): Promise<LivenessFront> {
  const begin = (life: string): Promise<LivenessServer> =>
    startLivenessServer({ node, incarnation: life, host: '127.0.0.1', warn });
  const pulses = [await begin(incarnation)];
  const sockets = new Set<Socket>();
  let greeted = 0;
  const front = createServer((socket) => {
    sockets.add(socket);
    const upstream = connect(pulses.at(-1)?.port ?? 0, '127.0.0.1');
    upstream.once('data', () => {
      greeted += 1;
    });
    upstream.pipe(socket);
    const end = (): void => {
      sockets.delete(socket);
      socket.destroy();
      upstream.destroy();
    };
    // The end or failure of one side ends the other.
    for (const one of [socket, upstream]) one.on('error', end).on('close', end);
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  const bound = front.address();
  if (bound === null || typeof bound === 'string') throw new Error('the front has no port');
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: bound.port,
    open: () => sockets.size,
    greeted: () => greeted,
    cutAll,
    async become(life) {
      pulses.push(await begin(life));
      cutAll();
    },
    async close() {
      const closed = once(front, 'close');
      front.close();
      cutAll();
      await closed;
      for (const pulse of pulses) await pulse.close();
    },
  };
}
