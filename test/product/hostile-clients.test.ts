import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';

const STREAMS = sample({ normal: 200, long: 2_000 });
const STARTS = sample({ normal: 80, long: 500 });
/** Memory of one idle stream beside its sockets' buffers, with a margin for a late garbage collector. */
const MOST_MB_FOR_STREAMS = 200;

/** Events of a raw SSE connection. */
class RawStream {
  readonly socket: Socket;
  #text = '';
  closed = false;

  constructor(port: number, executionId: string, after = 0) {
    this.socket = connect(port, '127.0.0.1').on('error', () => {});
    this.socket.setEncoding('utf8').on('data', (chunk: string) => {
      this.#text += chunk;
    });
    this.socket.once('close', () => {
      this.closed = true;
    });
    const last = after === 0 ? '' : `Last-Event-ID: ${after}\r\n`;
    this.socket.write(`GET /v1/executions/${executionId}/stream HTTP/1.1\r\nHost: localhost\r\n${last}\r\n`);
  }

  get ids(): number[] {
    return [...this.#text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  }

  /** Resolves when the last event has come; 204 means that it had come before. */
  get ended(): boolean {
    return /"execution_(completed|failed)":|^HTTP\/1\.1 204 /.test(this.#text);
  }
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

const rssMb = (pid: number): number =>
  Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);

const allEnded = (node: ProductNode, ids: readonly string[], timeoutMs = 60_000): Promise<unknown> =>
  waitUntil(
    `${ids.length} executions have completed`,
    async () => {
      const { body } = await node.call('GET', '/v1/executions?limit=1000&status=completed');
      const completed = new Set((body.executions as { execution_id: string }[]).map((one) => one.execution_id));
      return ids.every((id) => completed.has(id));
    },
    timeoutMs,
  );

describe('clients of one node', () => {
  let node: ProductNode;
  before(async () => {
    node = await ProductNode.start();
  });
  after(() => node[Symbol.asyncDispose]());

  describe('many clients at once', () => {
    test(`${STREAMS} idle event streams need a bounded memory, all receive the end, and other clients are served`, async () => {
      const agent = await node.deploy(agentYaml('idle'));
      const execution = await node.run(agent, 'sleepy');
      const { pid } = node.process;
      const before = existsSync('/proc/self/status') ? rssMb(pid) : 0;
      const streams = Array.from({ length: STREAMS }, () => new RawStream(node.port, execution));
      const open = () => streams.every((stream) => stream.ids.length > 0 || stream.closed);
      await waitUntil('every stream is open', open, 60_000);
      assert.equal(streams.filter((stream) => stream.closed).length, 0);
      if (existsSync('/proc/self/status')) {
        const used = rssMb(pid);
        console.log(`${STREAMS} idle streams: ${before} MB resident before, ${used} MB with them`);
        assert.ok(used - before < MOST_MB_FOR_STREAMS, `${used - before} MB for ${STREAMS} streams`);
      }
      const startedAt = performance.now();
      assert.equal((await node.call('GET', '/health/ready')).status, 200);
      const other = await node.run(agent, 'quick');
      await waitUntil('another execution ends', async () => (await node.statusOf(other)).status === 'completed');
      console.log(`another execution took ${Math.round(performance.now() - startedAt)} ms beside them`);
      assert.equal((await node.json('POST', `/v1/executions/${execution}/cancel`, {})).status, 200);
      await waitUntil('every stream has the last event', () => streams.every((stream) => stream.ended), 60_000);
      const [first] = streams;
      for (const stream of streams) assert.deepEqual(stream.ids, first?.ids);
      for (const stream of streams) stream.socket.destroy();
    });

    test('a client that never reads and one that disconnects in mid-stream block no other client', async () => {
      const agent = await node.deploy(agentYaml('steady'));
      const executions: string[] = [];
      for (let at = 0; at < 20; at += 1) executions.push(await node.run(agent, 'steady'));
      const unread = executions.map((id) => new RawStream(node.port, id));
      for (const stream of unread) stream.socket.pause();
      const cut = executions.map((id) => new RawStream(node.port, id));
      await waitUntil('the cut streams have begun', () => cut.every((stream) => stream.ids.length > 1));
      for (const stream of cut) stream.socket.resetAndDestroy();
      const read = executions.map((id) => new RawStream(node.port, id));
      await allEnded(node, executions);
      await waitUntil('the readers have it all', () => read.every((stream) => stream.ended));
      for (const stream of unread) stream.socket.resume();
      await waitUntil('what was not read is still there', () => unread.every((stream) => stream.ended));
      for (const [at, stream] of read.entries()) {
        assert.deepEqual(stream.ids, numbers(stream.ids.length));
        assert.deepEqual(unread[at]?.ids, stream.ids);
      }
      for (const stream of [...read, ...unread]) stream.socket.destroy();
    });

    test('each of hundreds of concurrent starts is started once or refused clearly', async () => {
      const agent = await node.deploy(agentYaml('many'));
      const startedAt = performance.now();
      const answers = await Promise.all(
        Array.from({ length: STARTS }, (_, at) =>
          node.json('POST', '/v1/executions', { agent_id: agent, input: `quick ${at}` }),
        ),
      );
      const took = Math.round(performance.now() - startedAt);
      for (const answer of answers)
        assert.ok([200, 429, 503].includes(answer.status), `${answer.status} ${answer.text}`);
      const ids = answers.filter(({ status }) => status === 200).map(({ body }) => String(body.execution_id));
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(ids.length > 0);
      await allEnded(node, ids);
      console.log(`${ids.length} of ${STARTS} starts answered in ${took} ms, all ended`);
      // Lists are updated after the commit.
      const listed = await waitUntil('all of them are listed', async () => {
        const { body } = await node.call('GET', `/v1/executions?limit=1000&agent_id=${agent}`);
        return Array.isArray(body.executions) && body.executions.length >= ids.length && body.executions;
      });
      assert.equal(listed.length, ids.length, 'no refused start was started');
    });
  });

  describe('a node that ends while it is used', () => {
    test('kill -9 with open streams: each resumes after its last id, without a gap or a repeat', async () => {
      const agent = await node.deploy(agentYaml('steady'));
      // At the same time: on a busy machine the first would have ended before the last has begun.
      const executions = await Promise.all(
        Array.from({ length: 10 }, (_, at) => node.run(agent, at === 9 ? 'slow' : 'steady')),
      );
      const streams = executions.map((id) => new RawStream(node.port, id));
      await waitUntil('every stream has begun', () => streams.every((stream) => stream.ids.length >= 4));
      await node.process.kill('SIGKILL');
      assert.ok(streams.some((stream) => !stream.ended));
      await waitUntil('every stream is cut', () => streams.every((stream) => stream.closed));
      await node.spawn();
      const resumed = streams.map((stream, at) => new RawStream(node.port, executions[at] ?? '', stream.ids.at(-1)));
      await waitUntil('every stream has its end', () => resumed.every((stream) => stream.ended), 60_000);
      for (const [at, stream] of resumed.entries()) {
        const ids = [...(streams[at]?.ids ?? []), ...stream.ids];
        assert.deepEqual(ids, numbers(ids.length));
      }
      await allEnded(node, executions);
    });

    test('SIGTERM ends streams in order, the exit code is 0, and the executions continue after a start', async () => {
      const agent = await node.deploy(agentYaml('slow'));
      const executions: string[] = [];
      for (let at = 0; at < 5; at += 1) executions.push(await node.run(agent, 'steady'));
      const sleepy = await node.run(agent, 'sleepy');
      const streams = [...executions, sleepy].map((id) => new RawStream(node.port, id));
      await waitUntil('every stream has begun', () => streams.every((stream) => stream.ids.length >= 2));
      const startedAt = performance.now();
      await node.process.kill('SIGTERM');
      assert.equal(node.process.exitCode, 0, node.process.log);
      const took = performance.now() - startedAt;
      assert.ok(took < 20_000, `stopped after ${took} ms`);
      await waitUntil('every stream is closed', () => streams.every((stream) => stream.closed));
      await node.spawn();
      await allEnded(node, executions);
      assert.equal((await node.statusOf(sleepy)).status, 'running');
      console.log(`SIGTERM with 6 executions and streams took ${Math.round(took)} ms`);
    });
  });
});
