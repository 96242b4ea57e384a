import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { EntryRecord } from '../../../manifests/audit/entries.ts';
import { sequenceFaults } from '../../../manifests/audit/links.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { type AuditSink, SinkQueue } from '../../../security/audit/sink-queue.ts';
import { FileSink, HttpSink, SyslogSink } from '../../../security/audit/sinks.ts';
import { chainOf } from '../../manifests/audit/entry-chains.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { auditOf, auditStore, callOf } from './audit-store.ts';

const records = chainOf('node-1', 1_200);

function queueOf(sink: AuditSink) {
  const warned: string[] = [];
  const warn = (message: string): void => void warned.push(message);
  return { queue: new SinkQueue({ node: 'node-1', sink, clock: systemClock, warn }), warned };
}

const recordsOf = (lines: readonly string[]): EntryRecord[] =>
  lines.map((line) => {
    const { node, tenant, ...record } = JSON.parse(line);
    assert.deepEqual([node, tenant], ['node-1', 'acme']);
    return record;
  });

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

describe('sinks of the audit, over real files and sockets', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-sink-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('a file gets every record in order, is readable by its owner only, and is rotated by size', async () => {
    const path = join(directory, 'logs', 'audit.jsonl');
    const { queue } = queueOf(new FileSink({ path, max_bytes: 200_000, keep: 9 }));
    queue.add('acme', records);
    await queue.close(10_000);
    const names = (await readdir(join(directory, 'logs'))).sort().reverse();
    assert.ok(names.length >= 3, names.join());
    const texts = await Promise.all(names.map((name) => readFile(join(directory, 'logs', name), 'utf8')));
    const lines = texts.flatMap(linesOf);
    assert.deepEqual(recordsOf(lines), records);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  it('keeps no more renamed files than the setting says', async () => {
    const path = join(directory, 'kept', 'audit.jsonl');
    const { queue } = queueOf(new FileSink({ path, max_bytes: 4_096, keep: 2 }));
    for (let index = 0; index < 5; index += 1) {
      queue.add('acme', records.slice(index * 10, index * 10 + 10));
      await waitUntil('the lines', async () => {
        const last = (await readFile(path, 'utf8').catch(() => '')).trimEnd().split('\n').at(-1) ?? '';
        return last.includes(`"sequence":${index * 10 + 10},`);
      });
    }
    await queue.close(5_000);
    assert.deepEqual((await readdir(join(directory, 'kept'))).sort(), [
      'audit.jsonl',
      'audit.jsonl.1',
      'audit.jsonl.2',
    ]);
  });

  it('syslog over TCP gets messages of RFC 5424 with counted octets', async () => {
    const got: Buffer[] = [];
    await using server = createServer((socket) => void socket.on('data', (data) => got.push(data)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const sink = new SyslogSink({ host: '127.0.0.1', port, protocol: 'tcp' }, 'node 1');
    const { queue } = queueOf(sink);
    queue.add('acme', records);
    const messages = await waitUntil('all messages', () => {
      const all = framesOf(Buffer.concat(got));
      return all.length === records.length ? all : null;
    });
    await queue.close(5_000);
    const form = /^<110>1 \d{4}-\d\d-\d\dT[\d:.]+Z node-1 svc \d+ audit - (\{.*\})$/;
    assert.deepEqual(recordsOf(messages.map((message) => form.exec(message)?.[1] ?? message)), records);
  });

  it('syslog over UDP gets a datagram for each record', async () => {
    const receiver = createSocket('udp4');
    const got: string[] = [];
    receiver.on('message', (message) => void got.push(message.toString()));
    receiver.bind(0, '127.0.0.1');
    await once(receiver, 'listening');
    const sink = new SyslogSink({ host: '127.0.0.1', port: receiver.address().port, protocol: 'udp' }, 'node-1');
    const { queue } = queueOf(sink);
    queue.add('acme', records.slice(0, 20));
    await waitUntil('20 datagrams', () => got.length === 20);
    await queue.close(5_000);
    receiver.close();
    assert.ok(got.every((message) => message.startsWith('<110>1 ')));
  });

  it('an HTTP receiver gets JSON lines with the token, and gets lines again that it did not accept', async () => {
    const bodies: string[] = [];
    const seen: unknown[] = [];
    let calls = 0;
    await using server = createHttpServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (data: string) => {
        body += data;
      });
      request.on('end', () => {
        calls += 1;
        seen.push(request.headers['content-type'], request.headers.authorization);
        if (calls % 2 === 0) bodies.push(body);
        response.writeHead(calls % 2 === 0 ? 204 : 503).end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const sink = new HttpSink({ url: `http://127.0.0.1:${port}/audit`, timeout_ms: 2_000 }, async () => 'the-token');
    const { queue, warned } = queueOf(sink);
    queue.add('acme', records);
    await waitUntil('all lines', () => bodies.flatMap(linesOf).length === records.length);
    await queue.close(5_000);
    assert.deepEqual(recordsOf(bodies.flatMap(linesOf)), records);
    assert.deepEqual([...new Set(seen)], ['application/x-ndjson', 'Bearer the-token']);
    assert.deepEqual(sequenceFaults(records), []);
    assert.match(warned[0] ?? '', /does not accept entries/);
  });

  it('a syslog receiver that died gets the records that come when it is back', async () => {
    let got: Buffer[] = [];
    const sockets = new Set<Socket>();
    const start = async (port: number) => {
      const server = createServer((socket) => {
        sockets.add(socket);
        socket.on('data', (data) => got.push(data));
        socket.on('error', () => {});
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      return server;
    };
    const first = await start(0);
    const { port } = first.address() as AddressInfo;
    const { queue } = queueOf(new SyslogSink({ host: '127.0.0.1', port, protocol: 'tcp' }, 'node-1'));
    queue.add('acme', records.slice(0, 10));
    await waitUntil('the first messages', () => framesOf(Buffer.concat(got)).length === 10);
    first.close();
    for (const socket of sockets) socket.destroy();
    await once(first, 'close');
    got = [];
    await using _again = await start(port);
    // TCP acknowledges to the operating system only: messages that were under way when the receiver died are lost.
    await waitUntil('later messages', () => {
      queue.add('acme', records.slice(10, 11));
      return framesOf(Buffer.concat(got)).length > 0;
    });
    await queue.close(5_000);
  });
});

describe('a sink that is down', () => {
  it('costs bounded memory, and gets the number of entries that it missed', async () => {
    const lines: string[] = [];
    let isDown = true;
    const sink: AuditSink = {
      async write(batch) {
        if (isDown) throw new Error('down');
        lines.push(...batch.map(({ text }) => text));
      },
      close: async () => {},
    };
    const { queue, warned } = queueOf(sink);
    for (let index = 0; index < 40; index += 1) queue.add('acme', records);
    assert.equal(queue.takes(), false);
    isDown = false;
    await waitUntil('the number of those missed', () => lines.at(-1)?.includes('"kind":"lost"'));
    await queue.close(5_000);
    const chars = lines.reduce((sum, { length }) => sum + length, 0);
    assert.ok(chars < 9 * 1024 * 1024, `${chars} characters were held`);
    const { body } = JSON.parse(lines.at(-1) ?? '{}');
    assert.equal(body.count, 40 * records.length - (lines.length - 1));
    assert.match(warned.join('\n'), /\d+ entr(y|ies) did not reach the audit sink/);
  });

  it('with fail_closed operations are refused while its buffer is full', async () => {
    await using store = await auditStore();
    let takes = true;
    const { audit } = auditOf(store.blocks, { failClosed: true, sinkTakes: () => takes });
    await (await audit.begin(callOf('agents.delete'))).end({ outcome: 'ok' });
    takes = false;
    await assert.rejects(audit.begin(callOf('agents.delete')), { code: 'unavailable', message: /sink/ });
  });
});

/** The complete messages of a stream of `LENGTH MESSAGE`. */
function framesOf(bytes: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf(' ', at);
    const length = Number(bytes.subarray(at, blank).toString());
    if (blank === -1 || blank + 1 + length > bytes.length) return messages;
    messages.push(bytes.subarray(blank + 1, blank + 1 + length).toString());
    at = blank + 1 + length;
  }
  return messages;
}
