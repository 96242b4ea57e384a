import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { describe, test } from 'node:test';
import { ConnectionGate, mostConnections } from '../../transport/connection-gate.ts';
import { waitUntil } from '../support/wait-until.ts';
import { grpcServer as grpc } from './grpc/grpc-server.ts';
import { restServer as rest } from './rest/rest-server.ts';

/** Opens `count` connections, and returns how many the server kept open. */
async function crowd(port: number, count: number): Promise<{ readonly kept: readonly Socket[]; end(): void }> {
  const gone = new Set<Socket>();
  const sockets: Socket[] = [];
  for (let at = 0; at < count; at += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.once('close', () => gone.add(socket)).resume();
    await once(socket, 'connect');
    sockets.push(socket);
  }
  await waitUntil('the last one is closed', () => gone.has(sockets.at(-1) ?? connect(port)));
  return {
    kept: sockets.filter((socket) => !gone.has(socket)),
    end: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe('connections of a listener', () => {
  test('connections stay below the descriptors of the process, with a reserve', () => {
    assert.equal(mostConnections({ connections: 10, descriptorShare: 0.5 }), 10);
    const half = mostConnections({ connections: 1e9, descriptorShare: 0.5 });
    assert.equal(half, Math.floor(mostConnections({ connections: 1e9, descriptorShare: 1 }) / 2));
  });

  test('one address cannot take them all: a quarter, of this machine nine tenths', () => {
    const gate = new ConnectionGate(100);
    const taken = (address: string): number => {
      for (let count = 0; ; count += 1) {
        const socket = new Socket();
        Object.defineProperty(socket, 'remoteAddress', { value: address });
        if (gate.enter(socket)) continue;
        assert.ok(socket.destroyed);
        return count;
      }
    };
    assert.deepEqual([taken('192.0.2.1'), taken('192.0.2.2'), taken('127.0.0.1'), taken('::1')], [25, 25, 50, 0]);
    assert.equal(new ConnectionGate(1).enter(new Socket()), true);
  });

  test('a proxy that the settings name may have as many as one of this machine, whichever way its address is written', () => {
    const proxies = ['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'];
    for (const [address, most] of [
      ['10.1.2.3', 90],
      ['::ffff:10.1.2.3', 90],
      ['2001:db8::1', 90],
      ['192.0.2.7', 90],
      ['::ffff:127.0.0.1', 90],
      ['11.0.0.1', 25],
      ['192.0.2.8', 25],
      ['2001:db9::1', 25],
    ] as const) {
      const gate = new ConnectionGate(100, proxies);
      let count = 0;
      for (; ; count += 1) {
        const socket = new Socket();
        Object.defineProperty(socket, 'remoteAddress', { value: address });
        if (!gate.enter(socket)) break;
      }
      assert.equal(count, most, address);
    }
  });

  for (const { name, open } of [
    {
      name: 'REST',
      async open() {
        const at = await rest({ limits: { connections: 10 } });
        return { port: at.port, end: () => at[Symbol.asyncDispose]() };
      },
    },
    {
      name: 'gRPC',
      async open() {
        const at = await grpc({ connections: 10 });
        return { port: Number(at.address.split(':').at(-1)), end: () => at[Symbol.asyncDispose]() };
      },
    },
  ]) {
    test(`${name} closes connections over the limit, and accepts others when some have ended`, async () => {
      const { port, end } = await open();
      const first = await crowd(port, 12);
      assert.equal(first.kept.length, 9);
      first.end();
      await waitUntil('there is room again', async () => {
        const socket = connect(port, '127.0.0.1').on('error', () => {});
        const closed = once(socket, 'close').then(() => true);
        socket.write('GET /health HTTP/1.1\r\n');
        const stays = await Promise.race([closed, new Promise((resolve) => setImmediate(resolve, false))]);
        socket.destroy();
        return stays === false;
      });
      await end();
    });
  }
});
