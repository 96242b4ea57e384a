import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import type { Authenticator } from '../../security/api.ts';
import { createAuthenticator } from '../../security/authenticator.ts';
import { ReadingTurns } from '../../transport/reading-turns.ts';
import { readInTurns } from '../../transport/rest/pipelines.ts';
import { answersTo, packedCalls } from '../attacks/packets.ts';
import { waitUntil } from '../support/wait-until.ts';
import { ended, metadataOf, request } from './grpc/call.ts';
import { grpcServer } from './grpc/grpc-server.ts';

const CONNECTIONS = 20;

async function listening(server: HttpServer | ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = server.address();
  return typeof at === 'object' && at !== null ? at.port : 0;
}

async function connected(count: number, port: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The maximum count in one turn of the event loop. */
class Turns {
  most = 0;
  all = 0;
  #now = 0;

  count(): void {
    if (this.#now === 0) setImmediate(() => (this.#now = 0));
    this.#now += 1;
    this.all += 1;
    this.most = Math.max(this.most, this.#now);
  }
}

test('connections that are stopped are not read until they are continued, those that were not read before the others', async (t) => {
  const reading = new ReadingTurns();
  const heard: string[] = [];
  const server = createServer((socket) => {
    reading.add(socket);
    socket.on('data', (bytes) => heard.push(String(bytes)));
  });
  const port = await listening(server);
  const [one, other] = await connected(2, port);
  assert.ok(one !== undefined && other !== undefined);
  t.after(() => {
    for (const socket of [one, other]) socket.destroy();
    server.close();
  });
  one.write('1');
  await waitUntil('the first was read', () => heard.length === 1);
  reading.stop();
  one.write('2');
  other.write('3');
  for (let turns = 0; turns < 20; turns += 1) await turnOfLoop();
  assert.deepEqual(heard, ['1']);
  assert.equal(reading.resume(), false);
  await waitUntil('both were read', () => heard.length === 3);
  assert.deepEqual(heard, ['1', '3', '2']);
});

test('a connection that its server does not want to read is not read again by turns', async (t) => {
  const reading = new ReadingTurns();
  let accepted: Socket | undefined;
  const server = createHttpServer((incoming) => {
    accepted = incoming.socket;
    // The body is not used: the server stops reading.
    incoming.once('readable', () => {});
  });
  server.prependListener('connection', (socket) => reading.add(socket));
  const [client] = await connected(1, await listening(server));
  t.after(() => {
    client?.destroy();
    server.closeAllConnections();
    server.close();
  });
  client?.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 50000000\r\n\r\n');
  client?.write(Buffer.alloc(20_000_000));
  let before = -1;
  await waitUntil('the server has stopped reading', () => {
    const now = accepted?.bytesRead ?? -1;
    const isSame = now > 0 && now === before;
    before = now;
    return isSame;
  });
  for (let turns = 0; turns < 50; turns += 1) {
    reading.stop();
    reading.resume();
    await turnOfLoop();
  }
  assert.equal(accepted?.bytesRead, before);
});

test('many requests on many connections take turns, and each is answered', async (t) => {
  const turns = new Turns();
  const server = createHttpServer((_incoming, answer) => {
    turns.count();
    answer.end('x');
  });
  readInTurns(server);
  const port = await listening(server);
  const sockets = await connected(CONNECTIONS, port);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  for (const socket of sockets) socket.resume().write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(49));
  await waitUntil('each was answered', () => turns.all === CONNECTIONS * 49);
  assert.ok(turns.most < 150, `${turns.most} in one turn`);
});

test('thousands of gRPC calls in one packet begin in rounds, of which a connection without an admitted one has a hundred', async (t) => {
  const turns = new Turns();
  const known = createAuthenticator({ realms: [] });
  const authenticator: Authenticator = {
    required: known.required,
    authenticate(presented) {
      turns.count();
      return known.authenticate(presented);
    },
  };
  await using it = await grpcServer({}, { authenticator });
  const call = { path: '/svc.runtime.v1.SvcRuntime/ExecuteAgent', authority: 'evil.example', token: null };
  const sockets = await connected(CONNECTIONS, Number(it.address.split(':')[1]));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const answers = sockets.map((socket) => answersTo(socket, 1_000));
  for (const socket of sockets) socket.write(packedCalls(1_000, call));
  for (const { answered, reset } of await Promise.all(answers)) assert.deepEqual([answered, reset], [100, 900]);
  assert.ok(turns.most <= 50, `${turns.most} in one turn`);
});

test('a call that waits for its turn is answered as well if its request ends without a message', async (t) => {
  await using it = await grpcServer();
  const call = { path: '/grpc.health.v1.Health/Check', authority: it.address, token: null, message: Buffer.alloc(0) };
  const sockets = await connected(5, Number(it.address.split(':')[1]));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const answers = sockets.map((socket) => answersTo(socket, 100));
  for (const socket of sockets) socket.write(packedCalls(100, call));
  for (const { answered } of await Promise.all(answers)) assert.equal(answered, 100);
});

test('a connection has few calls until one of them is admitted, then as many as a caller may have', async () => {
  await using it = await grpcServer({ firstCalls: 7, callsPerConnection: 70 });
  const session = connectHttp2(`http://${it.address}`).on('error', () => {});
  const settings: (number | undefined)[] = [];
  session.on('remoteSettings', ({ maxConcurrentStreams }) => settings.push(maxConcurrentStreams));
  await waitUntil('the settings of a new connection', () => settings.length === 1);
  session.destroy();
  const calls = Array.from({ length: 30 }, () => it.client.executeAgent(request(it.agentId), metadataOf({})));
  const ends = calls.map((call) => ended(call));
  await waitUntil('all calls are there', () => it.executions.starts.length === 30);
  assert.deepEqual(settings, [7]);
  for (const call of calls) call.cancel();
  await Promise.all(ends);
});
