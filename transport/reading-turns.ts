import type { Socket } from 'node:net';

/** Connections that are read again in one turn of the event loop. */
const GROUP = 256;

/** The handle of a socket, which HTTP servers read in place of the socket. */
interface Handle {
  /** False while the server does not read, because it has not used what it has read. */
  readonly reading: boolean;
  readStop(): unknown;
  readStart(): unknown;
}

/**
 * Stops and continues the reading of a listener's connections. Node.js reads every connection that has sent something in one turn of
 * the event loop: they hold it for as long as all of their requests take together. Once a turn has enough requests,
 * the other connections are not read in it, and take turns afterwards. Their packets wait in the system.
 */
export class ReadingTurns {
  /** Connections that are read, with the bytes that were read of each when it was last continued. */
  readonly #read = new Map<Socket, number>();
  /** Connections that are not read; the first is the next. */
  #stopped = new Set<Socket>();
  /** One function for all connections, which Node.js calls with the connection as `this`. */
  readonly #onClose: (this: Socket) => void;

  constructor() {
    const forget = (socket: Socket): void => {
      this.#read.delete(socket);
      this.#stopped.delete(socket);
    };
    this.#onClose = function closed() {
      forget(this);
    };
  }

  /** Takes a new connection. */
  add(socket: Socket): void {
    this.#read.set(socket, socket.bytesRead);
    socket.on('close', this.#onClose);
  }

  /** Stops all connections. Those that were not read since they were continued come first. */
  stop(): void {
    if (this.#read.size === 0) return;
    const unread: Socket[] = [];
    const others: Socket[] = [];
    for (const [socket, before] of this.#read) {
      const handle = handleOf(socket);
      if (handle?.reading) handle.readStop();
      (socket.bytesRead === before ? unread : others).push(socket);
    }
    this.#read.clear();
    this.#stopped = new Set([...unread, ...this.#stopped, ...others]);
  }

  /** Continues some connections; returns whether others are still stopped. */
  resume(): boolean {
    let left = GROUP;
    for (const socket of this.#stopped) {
      if (left === 0) break;
      left -= 1;
      this.#stopped.delete(socket);
      this.#read.set(socket, socket.bytesRead);
      const handle = handleOf(socket);
      if (handle?.reading) handle.readStart();
    }
    return this.#stopped.size > 0;
  }
}

/** An internal field of Node.js; undefined once the connection is closed. */
function handleOf(socket: Socket): Handle | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  return isHandle(handle) ? handle : undefined;
}

const isHandle = (handle: unknown): handle is Handle =>
  typeof handle === 'object' && handle !== null && 'readStop' in handle && 'readStart' in handle && 'reading' in handle;
