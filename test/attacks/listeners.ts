import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { AttackedNode } from './attacked-node.ts';
import { answersTo, packedCalls } from './packets.ts';

/** One attacker's requests to a listener until the end. */
export interface ListenerAttack {
  readonly listener: string;
  readonly shape: Shape;
  readonly token: boolean;
  /** Number of parallel connections. */
  readonly attackers: number;
  run(over: AbortSignal): Promise<void>;
}

const KiB = 1024;
const MiB = 1024 * KiB;
/** Long enough to measure the calls of others. */
const PIECE_EVERY_MS = 20;
const CROWD = 300;
/** More than the port holds in all. */
const LIVENESS_CROWD = 1_200;
const SHAPES = ['at', 'over', 'half', 'slow', 'many', 'big'] as const;
const ATTACKERS = { at: 4, over: 4, half: 40, slow: 40, many: CROWD, big: 20 } as const;
/** Calls in one packet: as many as wait for their answers on a connection, and as many as the largest of gRPC may have. */
const PACKED = { rest: 49, grpc: 1_000 } as const;

/**
 * Each listener of the node, with bodies at and over its bound, half, slow, silent connections, and
 * many calls in one packet, with and without a token.
 */
export function listenerAttacks(node: AttackedNode): ListenerAttack[] {
  const { token } = node;
  const rest = (listener: string, url: string, path: string, bounds: { with: number; without: number }) =>
    variants(listener, bounds, (shape, bytes, given, over) =>
      overHttp({ url: new URL(path, url), shape, bytes, token: given ? token : null, over }),
    );
  const grpc = (listener: string, address: string, path: { with: string; without: string }, bound: number) =>
    variants(listener, { with: bound, without: 4 * KiB }, (shape, bytes, given, over) =>
      overGrpc({ address, path: given ? path.with : path.without, shape, bytes, token: given ? token : null, over }),
    );
  const health = '/grpc.health.v1.Health/Check';
  return [
    ...rest('REST', node.url, '/v1/executions', { with: 16 * MiB, without: 4 * KiB }),
    ...grpc('gRPC', node.grpcAddress, { with: '/svc.runtime.v1.SvcRuntime/ExecuteAgent', without: health }, 16 * MiB),
    ...rest('internal REST', node.internalUrl, '/v1/seal/invoke', { with: MiB, without: MiB }),
    ...grpc(
      'internal gRPC',
      node.internalGrpcAddress,
      { with: '/svc.v1.InnerLoop/Generate', without: health },
      16 * MiB,
    ),
    ...(node.clusterAddress === ''
      ? []
      : grpc(
          'cluster',
          node.clusterAddress,
          { with: '/svc.cluster.v1.NodeClusterService/AttestNode', without: health },
          64 * KiB,
        )),
  ];
}

/** The port of the failure detector, at which other nodes see that this one lives: it reads nothing, so each byte is too much. */
export function livenessAttacks(address: string): ListenerAttack[] {
  const port = Number(address.split(':').pop());
  const pieces = { at: 400, over: 401, half: 200, slow: 1, many: 0, big: MiB } as const;
  return SHAPES.map((shape) => ({
    ...{ listener: 'liveness', shape, token: false, attackers: shape === 'many' ? LIVENESS_CROWD : ATTACKERS[shape] },
    run: (over) =>
      again(over, async () => {
        const socket = await opened(port, over);
        if (socket === null) return;
        const ended = until(socket.resume(), over, ['close']);
        if (shape === 'slow') await slowly(over, ended, () => socket.writable && socket.write('x'));
        else if (pieces[shape] > 0) socket.write(Buffer.alloc(pieces[shape]));
        await ended;
        socket.destroy();
      }),
  }));
}

type Shape = (typeof SHAPES)[number];
type Run = (shape: Shape, bytes: number, token: boolean, over: AbortSignal) => Promise<void>;

function variants(listener: string, bounds: { with: number; without: number }, run: Run): ListenerAttack[] {
  // A silent connection has no token.
  return [true, false].flatMap((token) =>
    SHAPES.filter((shape) => !token || shape !== 'many').map((shape) => ({
      ...{ listener, shape, token, attackers: ATTACKERS[shape] },
      run: (over) => run(shape, token ? bounds.with : bounds.without, token, over),
    })),
  );
}

/** JSON of this number of bytes. */
const body = (bytes: number): Buffer => Buffer.from(`{"x":"${'a'.repeat(Math.max(0, bytes - 8))}"}`);

/** Repeats until the end; a connection that the node closes ends one attempt. */
async function again(over: AbortSignal, one: () => Promise<void>): Promise<void> {
  while (!over.aborted) {
    await one();
    await pause(1);
  }
}

interface Http {
  readonly url: URL;
  readonly shape: Shape;
  readonly bytes: number;
  readonly token: string | null;
  readonly over: AbortSignal;
}

async function overHttp(given: Http): Promise<void> {
  if (given.shape === 'big') return packedRequests(given);
  const { url, shape, bytes, token, over } = given;
  const whole = shape === 'many' ? Buffer.alloc(0) : body(shape === 'over' ? bytes + 1 : bytes);
  const head = [
    `POST ${url.pathname} HTTP/1.1`,
    `host: ${url.host}`,
    'content-type: application/json',
    `content-length: ${whole.length}`,
    ...(token === null ? [] : [`authorization: Bearer ${token}`]),
  ];
  await again(over, async () => {
    const socket = await opened(Number(url.port), over);
    if (socket === null) return;
    if (shape !== 'many') socket.write(`${head.join('\r\n')}\r\n\r\n`);
    await sendBody(socket, shape, whole, over);
  });
}

/** A packet of requests, and a connection for each packet. */
async function packedRequests({ url, token, over }: Http): Promise<void> {
  const authorized = token === null ? '' : `authorization: Bearer ${token}\r\n`;
  const request = (more: string): string =>
    `GET ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\n${authorized}${more}\r\n`;
  const packet = request('').repeat(PACKED.rest - 1) + request('connection: close\r\n');
  await again(over, async () => {
    const socket = await opened(Number(url.port), over);
    if (socket === null) return;
    socket.resume().write(packet);
    await until(socket, over, ['close']);
    socket.destroy();
  });
}

/** Sends as its shape says, and waits for the end of it: an answer, a connection that is closed, or that all is over. */
async function sendBody(socket: Socket, shape: Shape, whole: Buffer, over: AbortSignal): Promise<void> {
  const ended = until(socket, over, shape === 'at' || shape === 'over' ? ['data', 'close'] : ['close']);
  if (shape === 'at' || shape === 'over') socket.write(whole);
  if (shape === 'half') socket.write(whole.subarray(0, whole.length / 2));
  if (shape === 'slow') await slowly(over, ended, (at) => socket.writable && socket.write(whole.subarray(at, at + 1)));
  await ended;
  socket.destroy();
}

async function slowly(over: AbortSignal, ended: Promise<void>, write: (at: number) => boolean): Promise<void> {
  let isOver = false;
  const done = ended.then(() => {
    isOver = true;
  });
  for (let at = 0; !isOver && !over.aborted; at += 1) {
    if (!write(at)) break;
    await Promise.race([pause(PIECE_EVERY_MS), done]);
  }
}

async function opened(port: number, over: AbortSignal): Promise<Socket | null> {
  const socket = connect(port, '127.0.0.1');
  const failed = new Promise<null>((resolve) => socket.on('error', () => resolve(null)));
  const ready = await Promise.race([once(socket, 'connect', { signal: over }).catch(() => null), failed]);
  if (ready === null) socket.destroy();
  return ready === null ? null : socket;
}

/** One of these events, or that all is over. */
function until(emitter: NodeJS.EventEmitter, over: AbortSignal, events: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    for (const event of events) emitter.once(event, () => resolve());
    over.addEventListener('abort', () => resolve(), { once: true });
    if (over.aborted) resolve();
  });
}

interface Grpc extends Omit<Http, 'url'> {
  readonly address: string;
  readonly path: string;
}

async function overGrpc(given: Grpc): Promise<void> {
  if (given.shape === 'big') return packedGrpc(given);
  const { address, path, shape, bytes, token, over } = given;
  const length = shape === 'over' ? bytes + 1 : bytes;
  const framed = Buffer.alloc(5 + (shape === 'many' ? 0 : length));
  framed.writeUInt32BE(length, 1);
  const headers = {
    ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
  await again(over, async () => {
    const session = connectHttp2(`http://${address}`).on('error', () => undefined);
    if (shape === 'many') await until(session, over, ['close']);
    else await call(session, headers, { shape, framed, over });
    session.destroy();
  });
}

/** A packet of calls, and a connection for each packet. */
async function packedGrpc({ address, path, token, over }: Grpc): Promise<void> {
  const packet = packedCalls(PACKED.grpc, { path, authority: address, token });
  await again(over, async () => {
    const socket = await opened(Number(address.split(':').pop()), over);
    if (socket === null) return;
    const answers = answersTo(socket, PACKED.grpc);
    socket.write(packet);
    await Promise.race([answers, until(socket, over, ['close'])]);
    socket.destroy();
  });
}

async function call(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  { shape, framed, over }: { readonly shape: Shape; readonly framed: Buffer; readonly over: AbortSignal },
): Promise<void> {
  const stream = session.request(headers, { endStream: false });
  stream.on('error', () => undefined).resume();
  const ended = Promise.race([until(stream, over, ['close']), until(session, over, ['close'])]);
  if (shape === 'at' || shape === 'over') stream.end(framed);
  if (shape === 'half') stream.write(framed.subarray(0, framed.length / 2));
  if (shape === 'slow')
    await slowly(over, ended, (at) => !stream.destroyed && (stream.write(framed.subarray(at, at + 1)) || true));
  await ended;
  stream.destroy();
}
