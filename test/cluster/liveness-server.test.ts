import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { advertisedHost, hostPort, parseHostPort } from '../../cluster/advertised-host.ts';
import {
  handshakeOf,
  type LivenessServer,
  parseHandshake,
  startLivenessServer,
} from '../../cluster/failure-detector/liveness-server.ts';
import { waitUntil } from '../support/wait-until.ts';

const servers: LivenessServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function started(): Promise<LivenessServer> {
  const server = await startLivenessServer({
    node: 'node-a',
    incarnation: 'life-1',
    host: '127.0.0.1',
    warn: (message, error) => assert.fail(`${message} ${String(error)}`),
  });
  servers.push(server);
  return server;
}

interface Caller {
  readonly socket: Socket;
  heard(): string;
  ended(): boolean;
}

/** `from`: an address of this machine. */
function call(server: LivenessServer, from = '127.0.0.1'): Caller {
  const socket = connect({ port: server.port, host: server.host, localAddress: from });
  sockets.push(socket);
  let heard = '';
  let ended = false;
  socket.on('data', (bytes) => {
    heard += bytes.toString();
  });
  socket.on('close', () => {
    ended = true;
  });
  // A reset is one of the ways a connection may end here.
  socket.on('error', () => socket.destroy());
  return { socket, heard: () => heard, ended: () => ended };
}

test('a caller receives one line, and the connection stays open', async () => {
  const server = await started();
  const first = call(server);
  await waitUntil('the hello', () => first.heard() === 'svc-pulse 1 node-a life-1\n');
  const later = call(server);
  await waitUntil('the hello of a later one', () => later.heard() !== '');
  assert.equal(first.ended(), false);
  assert.equal(first.heard(), 'svc-pulse 1 node-a life-1\n');
  await server.close();
  servers.length = 0;
  await waitUntil('both are cut when it closes', () => first.ended() && later.ended());
});

test('bytes of a client are ignored, and a client that sends too many is disconnected', async () => {
  const server = await started();
  const brief = call(server);
  brief.socket.write('GET / HTTP/1.1\r\n\r\n');
  await waitUntil('the hello', () => brief.heard() === 'svc-pulse 1 node-a life-1\n');
  const talker = call(server);
  await once(talker.socket, 'connect');
  talker.socket.write(Buffer.alloc(100_000));
  await waitUntil('the connection that sends data to be closed', () => talker.ended());
  assert.equal(brief.ended(), false);
});

/** Calls this many times; at most as many at once as the backlog of a listening socket holds, since others get no answer. */
async function callMany(count: number, one: (at: number) => Caller): Promise<Caller[]> {
  const callers: Caller[] = [];
  while (callers.length < count) {
    const some = Array.from({ length: Math.min(200, count - callers.length) }, (_none, at) => one(callers.length + at));
    await waitUntil('each connection to be answered or closed', () =>
      some.every((each) => each.heard() !== '' || each.ended()),
    );
    callers.push(...some);
  }
  return callers;
}

test('at most a thousand connections are held; those beyond end without a hello', async () => {
  const server = await started();
  const callers = await callMany(1_005, (at) => call(server, `127.0.0.${2 + (at % 5)}`));
  assert.equal(callers.filter((caller) => !caller.ended()).length, 1_000);
  assert.ok(callers.every((caller) => caller.ended() === (caller.heard() === '')));
});

test('unknown clients of one address cannot block peers: many, excess, half-open and slow ones share a quarter', async (t) => {
  const server = await started();
  const peer = call(server);
  await waitUntil('the hello', () => peer.heard() !== '');
  const stranger = () => call(server, '127.0.0.9');
  const [over, half, slow] = [0, 1, 2].map(() => Array.from({ length: 40 }, stranger));
  const dripping = setInterval(() => {
    for (const { socket } of slow ?? []) if (!socket.destroyed) socket.write('x'.repeat(10));
  }, 10);
  t.after(() => clearInterval(dripping));
  for (const { socket } of over ?? []) socket.write(Buffer.alloc(65_536));
  for (const { socket } of half ?? []) socket.write(Buffer.alloc(200));
  await waitUntil('connections that send too much to be closed', () => over?.every((one) => one.ended()) === true);
  const many = await callMany(1_100, stranger);
  assert.ok(many.filter((one) => !one.ended()).length <= 250);
  await waitUntil('slow connections to be closed', () => slow?.every((one) => one.ended()) === true);
  for (let later = 0; later < 20; later += 1) {
    const next = call(server);
    await waitUntil('the hello of a later peer', () => next.heard() !== '');
  }
  assert.equal(peer.ended(), false);
});

test('a greeting is parsed, and no other text is accepted as one', () => {
  const life = { node: 'node-a', incarnation: '0b8c' };
  assert.deepEqual(parseHandshake(handshakeOf(life).trimEnd()), life);
  for (const line of ['', 'svc-pulse 2 a b', 'svc-pulse 1 a', 'svc-pulse 1 a b c', 'HTTP/1.1 400 Bad Request'])
    assert.equal(parseHandshake(line), null, line);
});

test('the announced address is the setting, else the bound address, else the first external one', () => {
  const address = (text: string, family: 'IPv4' | 'IPv6', internal = false) =>
    family === 'IPv4'
      ? { address: text, family, internal, netmask: '', mac: '', cidr: null }
      : { address: text, family, internal, netmask: '', mac: '', cidr: null, scopeid: 0 };
  const interfaces = {
    lo: [address('127.0.0.1', 'IPv4', true)],
    eth0: [address('fe80::1', 'IPv6'), address('2001:db8::7', 'IPv6'), address('10.1.2.3', 'IPv4')],
  };
  assert.equal(advertisedHost('node-a.example', '0.0.0.0', interfaces), 'node-a.example');
  assert.equal(advertisedHost(undefined, '10.9.9.9', interfaces), '10.9.9.9');
  for (const wildcard of ['0.0.0.0', '::']) assert.equal(advertisedHost(undefined, wildcard, interfaces), '10.1.2.3');
  assert.equal(advertisedHost(undefined, '::', { eth0: interfaces.eth0.slice(0, 2) }), '2001:db8::7');
  assert.equal(advertisedHost(undefined, '0.0.0.0', { lo: interfaces.lo }), '127.0.0.1');
});

test('host and port are one text and back, IPv6 in brackets', () => {
  for (const [host, port, text] of [
    ['10.1.2.3', 7_000, '10.1.2.3:7000'],
    ['2001:db8::7', 7_000, '[2001:db8::7]:7000'],
    ['node-a.example', 1, 'node-a.example:1'],
  ] as const) {
    assert.equal(hostPort(host, port), text);
    assert.deepEqual(parseHostPort(text), { host, port });
  }
  for (const text of ['', 'host', 'host:0', 'host:65536', ':80', 'a b:80', '::1:80', 'http://host:80'])
    assert.equal(parseHostPort(text), null, text);
});
