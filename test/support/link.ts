import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export type Direction = 'to-store' | 'from-store' | 'both';

/**
 * A proxy on loopback between one node and a server. A test can cut it as a network is cut: the connections stay open,
 * and what is sent in a cut direction arrives only when the link is healed, as a retransmission would.
 */
export interface Link extends AsyncDisposable {
  readonly port: number;
  /** Bytes that arrived so far. */
  readonly passed: { readonly toStore: number; readonly fromStore: number };
  cut(direction: Direction): void;
  /** Adds latency to every byte of a direction; 0 removes it. */
  slow(ms: number, direction?: Direction): void;
  /** Breaks all connections and refuses new ones until `heal`, as if the server were down. */
  refuse(): void;
  /** Drops the next bytes of the server and breaks all connections: the request was executed, but its caller gets no answer. */
  loseNextAnswer(): Promise<void>;
  /** Sends new connections to another server. */
  retarget(port: number): void;
  /** Ends cuts, latency and refusals. */
  heal(): void;
  close(): Promise<void>;
}

/** Beyond this a cut direction reads no more, so TCP's back-pressure reaches the sender. */
const MOST_HELD = 4 * 1024 * 1024;

/** One direction of a link, for all its connections. */
class Way {
  isCut = false;
  delayMs = 0;
  passed = 0;
  /** Called with the next bytes, which are then lost. */
  lose: (() => void) | null = null;
  readonly #streams = new Set<() => void>();

  /** Forwards held bytes where the state allows it now. */
  flow(): void {
    for (const drain of this.#streams) drain();
  }

  carry(from: Socket, to: Socket): void {
    const held: { readonly dueAt: number; readonly bytes: Buffer }[] = [];
    let heldBytes = 0;
    let isOver = false;
    let timer: NodeJS.Timeout | null = null;
    const drain = (): void => {
      if (this.isCut) return;
      for (let next = held[0]; next !== undefined; next = held[0]) {
        const waitMs = next.dueAt - performance.now();
        if (waitMs > 0) {
          timer ??= setTimeout(() => {
            timer = null;
            drain();
          }, Math.ceil(waitMs));
          return;
        }
        held.shift();
        heldBytes -= next.bytes.length;
        this.passed += next.bytes.length;
        if (!to.destroyed) to.write(next.bytes);
      }
      if (from.isPaused() && heldBytes < MOST_HELD) from.resume();
      if (isOver) {
        to.end();
        this.#streams.delete(drain);
      }
    };
    this.#streams.add(drain);
    from.on('data', (bytes: Buffer) => {
      if (this.lose !== null) {
        this.lose();
        this.lose = null;
        return;
      }
      held.push({ dueAt: performance.now() + this.delayMs, bytes });
      heldBytes += bytes.length;
      if (heldBytes > MOST_HELD) from.pause();
      drain();
    });
    const over = (): void => {
      isOver = true;
      drain();
    };
    from.on('end', over);
    from.on('close', over);
    to.on('close', () => {
      if (timer !== null) clearTimeout(timer);
      this.#streams.delete(drain);
    });
  }
}

export async function startLink(targetPort: number): Promise<Link> {
  let target = targetPort;
  const sockets = new Set<Socket>();
  const toStore = new Way();
  const fromStore = new Way();
  let isRefusing = false;
  const ways = (direction: Direction): Way[] => {
    if (direction === 'both') return [toStore, fromStore];
    return [direction === 'to-store' ? toStore : fromStore];
  };
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => sockets.delete(socket));
    // Connections break on purpose here.
    socket.on('error', () => socket.destroy());
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    track(client);
    if (isRefusing) {
      client.destroy();
      return;
    }
    const upstream = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    track(upstream);
    toStore.carry(client, upstream);
    fromStore.carry(upstream, client);
    upstream.on('error', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the link has no port');
  const close = async (): Promise<void> => {
    breakAll();
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
  return {
    port: address.port,
    get passed() {
      return { toStore: toStore.passed, fromStore: fromStore.passed };
    },
    cut(direction) {
      for (const way of ways(direction)) way.isCut = true;
    },
    slow(ms, direction = 'both') {
      for (const way of ways(direction)) way.delayMs = ms;
    },
    refuse() {
      isRefusing = true;
      breakAll();
    },
    loseNextAnswer: () =>
      new Promise((resolve) => {
        fromStore.lose = () => {
          breakAll();
          resolve();
        };
      }),
    retarget(port) {
      target = port;
    },
    heal() {
      isRefusing = false;
      for (const way of [toStore, fromStore]) {
        way.isCut = false;
        way.delayMs = 0;
        way.flow();
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
