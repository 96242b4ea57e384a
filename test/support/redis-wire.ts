import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Rate of each fault in the calls of functions, 0 to 1. */
export interface WireRates {
  /** The server gets the same bytes twice at once; the caller gets one answer. */
  twice: number;
  /** The server gets the same bytes again later. */
  late: number;
  /** The call is executed, but the connection closes before the answer. */
  answerLost: number;
  /** The connection closes, and the bytes arrive later, as a delayed packet of a closed connection. */
  orphaned: number;
}

/** Records copies of calls in order. */
export interface Recording {
  /** Ends the recording. The returned function sends the copies to the server; resolves when it has executed them. */
  stop(): () => Promise<void>;
}

/** A network in front of a Redis, below the adapter: commands arrive twice, late, or without an answer. */
export interface RedisWire {
  readonly port: number;
  readonly rates: WireRates;
  readonly struck: Readonly<Record<keyof WireRates, number>>;
  /** Delivers the delayed copies; resolves when the server has executed them. */
  deliverLate(): Promise<void>;
  /** Records a copy of every call from now on. */
  record(): Recording;
  close(): Promise<void>;
}

/** Commands of the store that are not its link's own. */
const RECORDED: ReadonlySet<string> = new Set([
  'fcall',
  'hset',
  'hsetnx',
  'hget',
  'hmget',
  'hgetall',
  'hkeys',
  'publish',
]);
/** Longest delay of a late copy, ms. */
const LATE_MS = 400;

export async function startRedisWire(
  targetPort: number,
  random: () => number,
  spares: (name: string) => boolean = () => false,
): Promise<RedisWire> {
  const rates: WireRates = { twice: 0, late: 0, answerLost: 0, orphaned: 0 };
  const struck = { twice: 0, late: 0, answerLost: 0, orphaned: 0 };
  const sockets = new Set<Socket>();
  const underWay = new Map<NodeJS.Timeout, Buffer>();
  const recordings = new Set<Buffer[]>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Connections break on purpose here.
    socket.on('error', () => socket.destroy());
    return socket;
  };
  /** Copies go over a connection of their own, and their answers are dropped. */
  const deliver = async (bytes: readonly Buffer[]): Promise<void> => {
    const side = track(connect(targetPort, '127.0.0.1'));
    // One that cannot connect, since the server is down, has lost them.
    const closed = new Promise<void>((resolve) => side.on('close', () => resolve()));
    side.resume();
    side.end(Buffer.concat([...bytes, Buffer.from('*1\r\n$4\r\nQUIT\r\n')]));
    await closed;
  };
  const later = (bytes: Buffer): void => {
    const timer = setTimeout(() => {
      underWay.delete(timer);
      void deliver([bytes]);
    }, random() * LATE_MS);
    underWay.set(timer, bytes);
  };
  /** False: close the connection. */
  const forward = (command: Buffer, name: string, upstream: Socket): boolean => {
    const strikes = (kind: keyof WireRates): boolean => {
      const does = !spares(name) && random() < rates[kind];
      if (does) struck[kind] += 1;
      return does;
    };
    if (name === '') upstream.write(command);
    else if (strikes('orphaned')) {
      later(command);
      return false;
    } else {
      upstream.write(command);
      if (strikes('twice')) void deliver([command]);
      if (strikes('late')) later(command);
      return !strikes('answerLost');
    }
    return true;
  };
  const server = createServer((client) => {
    track(client);
    const upstream = track(connect(targetPort, '127.0.0.1'));
    let waiting: Buffer = Buffer.alloc(0);
    client.on('data', (bytes) => {
      waiting = Buffer.concat([waiting, bytes]);
      for (;;) {
        const found = firstCommand(waiting);
        if (found === null || client.destroyed) return;
        const command = Buffer.from(waiting.subarray(0, found.end));
        waiting = waiting.subarray(found.end);
        if (RECORDED.has(found.command)) for (const recording of recordings) recording.push(command);
        if (forward(command, found.called, upstream)) continue;
        client.destroy();
        upstream.end();
      }
    });
    upstream.on('data', (bytes) => {
      if (!client.destroyed) client.write(bytes);
    });
    client.on('close', () => upstream.end());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the wire has no port');
  return {
    port: address.port,
    rates,
    struck,
    async deliverLate() {
      const bytes = [...underWay.values()];
      for (const timer of underWay.keys()) clearTimeout(timer);
      underWay.clear();
      await deliver(bytes);
    },
    record() {
      const copies: Buffer[] = [];
      recordings.add(copies);
      return {
        stop() {
          recordings.delete(copies);
          return () => deliver(copies);
        },
      };
    },
    async close() {
      for (const timer of underWay.keys()) clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/** Where the first whole command ends, and which function it calls ('' for any other command). */
function firstCommand(
  bytes: Buffer,
): { readonly end: number; readonly command: string; readonly called: string } | null {
  let at = 0;
  const length = (): number | null => {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return null;
    const value = Number(bytes.toString('latin1', at + 1, end));
    at = end + 2;
    return value;
  };
  const words = length();
  if (words === null) return null;
  const first: string[] = [];
  for (let word = 0; word < words; word += 1) {
    const size = length();
    if (size === null || bytes.length < at + size + 2) return null;
    if (word < 2) first.push(bytes.toString('latin1', at, at + size));
    at += size + 2;
  }
  const command = first[0]?.toLowerCase() ?? '';
  return { end: at, command, called: command === 'fcall' ? (first[1] ?? '') : '' };
}
