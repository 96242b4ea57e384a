import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { describe, test } from 'node:test';
import { ended, framed, metadataOf, request } from './call.ts';
import { grpcServer } from './grpc-server.ts';

const KiB = 1024;
const CHECK = '/grpc.health.v1.Health/Check';
const WATCH = '/grpc.health.v1.Health/Watch';
const REFLECT = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const EXHAUSTED = '8';
const LATE = '4';
const INVALID = '3';

/** Field 1, the name of a service. */
const named = (length: number): Buffer => {
  const size = Buffer.from([0x0a, (length & 0x7f) | 0x80, (length >> 7) & 0x7f]);
  return Buffer.concat([size, Buffer.alloc(length, 'x')]);
};

function open(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  const head = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request(head, { endStream: false });
  stream.on('error', () => {});
  stream.resume();
  return stream;
}

/** `grpc-status` and `svc-error-code` of a stream, in its headers or trailers. */
const endOf = (stream: ClientHttp2Stream): Promise<readonly [status: string, error: string]> =>
  new Promise((resolve) => {
    const look = (headers: Record<string, unknown>): void => {
      if (headers['grpc-status'] !== undefined)
        resolve([String(headers['grpc-status']), String(headers['svc-error-code'])]);
    };
    stream.on('response', look);
    stream.on('trailers', look);
  });

const statusOf = async (stream: ClientHttp2Stream): Promise<string> => (await endOf(stream))[0];

async function withSession(address: string, work: (session: ClientHttp2Session) => Promise<void>): Promise<void> {
  const session = connect(`http://${address}`);
  session.on('error', () => {});
  await work(session);
  session.destroy();
}

describe('gRPC calls without authentication', () => {
  test('get INVALID_ARGUMENT for bytes that are no message, as from every other method', async () => {
    await using it = await grpcServer();
    await withSession(it.address, async (session) => {
      for (const path of [CHECK, '/grpc.health.v1.Health/List', WATCH, REFLECT]) {
        const stream = open(session, path);
        const status = statusOf(stream);
        stream.end(framed(Buffer.from([0x0a, 0xff])));
        assert.equal(await status, INVALID, path);
      }
    });
  });

  test('may send at most 4 KiB: the announced length is refused, not waited for', async () => {
    await using it = await grpcServer();
    await withSession(it.address, async (session) => {
      for (const path of [CHECK, WATCH, REFLECT]) {
        const stream = open(session, path);
        const end = endOf(stream);
        stream.write(framed(Buffer.alloc(10), 15 * KiB * KiB));
        assert.deepEqual(await end, [INVALID, 'payload_too_large'], path);
      }
      const small = open(session, CHECK);
      const status = statusOf(small);
      small.end(framed(named(4_000)));
      assert.equal(await status, '5');
    });
    await it.run();
  });

  test('a request that does not end is DEADLINE_EXCEEDED, of callers too', async () => {
    await using it = await grpcServer({ requestTimeoutMs: 100 });
    await withSession(it.address, async (session) => {
      const unfinished = [CHECK, WATCH, REFLECT, '/svc.runtime.v1.SvcRuntime/ExecuteAgent'].map((path) => {
        const stream = open(session, path);
        const status = statusOf(stream);
        stream.write(framed(Buffer.alloc(10), 20));
        return status;
      });
      assert.deepEqual(await Promise.all(unfinished), [LATE, LATE, LATE, LATE]);
      const halfOpen = open(session, CHECK);
      const status = statusOf(halfOpen);
      // The whole message, without the end of the request.
      halfOpen.write(framed(Buffer.alloc(0)));
      assert.equal(await status, LATE);
    });
  });

  test('a run whose request is complete goes on, however long it takes', async () => {
    await using it = await grpcServer({ requestTimeoutMs: 50 });
    const { call } = await it.run();
    const first = await Promise.race([ended(call), new Promise((resolve) => setTimeout(resolve, 300, 'goes on'))]);
    assert.equal(first, 'goes on');
    call.cancel();
  });

  test('few calls are accepted at once on one connection, two watches of them, and event streams stay open to callers', async () => {
    await using it = await grpcServer({ strangerCalls: 5, streams: 3, healthWatches: 3 });
    await withSession(it.address, async (session) => {
      const watches = Array.from({ length: 7 }, () => {
        const stream = open(session, WATCH);
        const told = Promise.race([
          statusOf(stream),
          new Promise((resolve) => stream.once('data', () => resolve('0'))),
        ]);
        stream.end(framed(Buffer.alloc(0)));
        return told;
      });
      const answers = await Promise.all(watches);
      assert.deepEqual(answers.filter((one) => one === '0').length, 2);
      assert.deepEqual(answers.filter((one) => one === EXHAUSTED).length, 5);
      const runs = [await it.run(), await it.run(), await it.run()];
      for (const { call } of runs) call.cancel();
    });
    const call = it.client.executeAgent(request(it.agentId), metadataOf({}));
    call.once('metadata', () => call.cancel());
    assert.equal((await ended(call)).code, 'CANCELLED');
  });

  test('too many calls are refused, on however many connections; the place of an ended one is free again', async () => {
    await using it = await grpcServer({ strangerCallsInAll: 10 });
    // This address has nine tenths of the connections, as a proxy would.
    const opened = async (session: ClientHttp2Session, count: number) => {
      const streams = Array.from({ length: count }, () => open(session, REFLECT));
      // Answered after the others, so that all refusals have happened.
      const check = open(session, CHECK);
      const status = statusOf(check);
      check.end(framed(Buffer.alloc(0)));
      return { streams, last: await status };
    };
    await withSession(it.address, async (first) => {
      await withSession(it.address, async (second) => {
        assert.equal((await opened(first, 5)).last, '0');
        const { streams, last } = await opened(second, 4);
        assert.equal(last, EXHAUSTED);
        for (const stream of streams) stream.close();
        assert.equal((await opened(first, 0)).last, '0');
      });
    });
  });

  test('a refused call does not stay open, although its client never ends it', async () => {
    await using it = await grpcServer({ requestTimeoutMs: 100 });
    await withSession(it.address, async (session) => {
      const late = open(session, CHECK);
      const large = open(session, CHECK);
      large.write(framed(Buffer.alloc(10), 15 * KiB * KiB));
      const unknown = open(session, '/svc.runtime.v1.SvcRuntime/Nothing');
      const refused = [late, large, unknown];
      await Promise.all(refused.map((stream) => once(stream, 'close')));
      assert.deepEqual(
        refused.map(({ rstCode }) => rstCode),
        [0, 0, 0],
      );
    });
  });

  test('a client that reads no answer of the reflection is not read from either', async () => {
    await using it = await grpcServer();
    const symbol = 'svc.runtime.v1.SvcRuntime';
    const one = framed(Buffer.concat([Buffer.from([0x22, symbol.length]), Buffer.from(symbol)]));
    const count = 20_000;
    await withSession(it.address, async (session) => {
      const head = { ':method': 'POST', ':path': REFLECT, 'content-type': 'application/grpc', te: 'trailers' };
      const stream = session.request(head, { endStream: false }).on('error', () => {});
      stream.write(Buffer.concat(Array<Buffer>(count).fill(one)));
      // Each is answered behind what was sent before it.
      for (let turns = 0; turns < 50; turns += 1) {
        const check = open(session, CHECK);
        const status = statusOf(check);
        check.end(framed(Buffer.alloc(0)));
        assert.equal(await status, '0');
      }
      assert.ok(stream.writableLength > 0, 'the node took all requests');
      stream.close();
    });
  });
});
