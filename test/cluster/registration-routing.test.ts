import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { after, test } from 'node:test';
import {
  credentials,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { createControllerToken } from '../../cluster/registration/registration.ts';
import { type ClusterCallsParts, createClusterCalls } from '../../cluster/registration/routing-client.ts';
import {
  ForwardExecutionRequest,
  NodeClusterServiceService,
  PushConfigRequest,
  type PushConfigResponse,
  type SealNodeEnvelope,
} from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { ExecutionEvent } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { systemClock } from '../../runtime/clock.ts';
import { waitUntil } from '../support/wait-until.ts';
import { newNodeKey } from './registered-node.ts';

const key = newNodeKey();
const servers: Server[] = [];
after(() => {
  for (const server of servers) server.forceShutdown();
});

/** A node that echoes requests over a real socket; only envelopes with a valid seal get that far. */
class Peer {
  readonly connections = new Set<string>();
  cancelled = 0;
  address = '';
  server: Server | null = null;

  async start(): Promise<this> {
    const server = new Server({ 'grpc.enable_channelz': 1 });
    servers.push(server);
    this.server = server;
    const refuse: UntypedHandleCall = (_call: unknown, done: sendUnaryData<unknown>) =>
      done({ code: status.UNIMPLEMENTED });
    const names = Object.keys(NodeClusterServiceService);
    server.addService(NodeClusterServiceService, {
      ...Object.fromEntries(names.map((name) => [name, refuse])),
      forwardExecution: (call: ServerWritableStream<SealNodeEnvelope, ExecutionEvent>) => this.#forward(call),
      pushConfig: (call: ServerUnaryCall<SealNodeEnvelope, unknown>, done: sendUnaryData<PushConfigResponse>) => {
        const { config_yaml: yaml } = PushConfigRequest.decode(this.#opened(call));
        const rejected = { accepted: false, rejection_reason: 'spec.nodes: no such thing' };
        done(null, yaml === 'good' ? { accepted: true } : rejected);
      },
    });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
        error === null ? resolve(at) : reject(error),
      );
    });
    this.address = `127.0.0.1:${port}`;
    return this;
  }

  #opened(call: ServerUnaryCall<SealNodeEnvelope, unknown> | ServerWritableStream<SealNodeEnvelope, unknown>): Buffer {
    this.connections.add(call.getPeer());
    const { payload, signature, node_security_token: token } = call.request;
    assert.equal(call.metadata.get('authorization')[0], `Bearer ${token}`);
    assert.ok(verify(null, payload, createPublicKey(key.publicKeyPem), signature));
    return payload;
  }

  #forward(call: ServerWritableStream<SealNodeEnvelope, ExecutionEvent>): void {
    const { execution_id, agent_id, input } = ForwardExecutionRequest.decode(this.#opened(call));
    call.on('cancelled', () => {
      this.cancelled += 1;
    });
    const started_at = '2026-01-01T00:00:00Z';
    call.write({ event: { $case: 'execution_started', value: { execution_id, agent_id, started_at } } });
    if (input === 'stay') return;
    const ended = { execution_id, final_output: input, total_iterations: 1, completed_at: started_at };
    call.write({ event: { $case: 'execution_completed', value: ended } });
    call.end();
  }
}

function callsOf(given: Partial<ClusterCallsParts> = {}): ReturnType<typeof createClusterCalls> {
  const calls = createClusterCalls({
    credentials: credentials.createInsecure(),
    nodeToken: async () => 'a.node.token',
    privateKey: key.privateKey,
    ...given,
  });
  after(() => calls.close());
  return calls;
}

const at = (grpcAddress: string) => ({ nodeId: 'worker-1', grpcAddress });

const request = (input: string): ForwardExecutionRequest => ({
  execution_id: 'e1',
  agent_id: 'a1',
  manifest_yaml: '',
  input,
  context_json: '',
});

test('a forwarded execution gives the events of its worker in order, many over one connection', async () => {
  const peer = await new Peer().start();
  const calls = callsOf();
  const outputs = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const events: ExecutionEvent[] = [];
      for await (const event of calls.forward(at(peer.address), request(`hello ${index}`))) events.push(event);
      assert.deepEqual(
        events.map(({ event }) => event?.$case),
        ['execution_started', 'execution_completed'],
      );
      const last = events.at(-1)?.event;
      return last?.$case === 'execution_completed' ? last.value.final_output : null;
    }),
  );
  assert.deepEqual(
    outputs,
    Array.from({ length: 20 }, (_, index) => `hello ${index}`),
  );
  assert.deepEqual([peer.connections.size, calls.connections()], [1, 1]);
});

test('a client that stops listening, or gives up, ends the stream at the worker', async () => {
  const peer = await new Peer().start();
  const calls = callsOf();
  for await (const _event of calls.forward(at(peer.address), request('stay'))) break;
  await waitUntil('the first end', () => peer.cancelled === 1);
  const given = new AbortController();
  await assert.rejects(async () => {
    for await (const _event of calls.forward(at(peer.address), request('stay'), { signal: given.signal }))
      given.abort();
  }, /CANCELLED/);
  await waitUntil('the second end', () => peer.cancelled === 2);
});

test('a worker that dies while it streams makes the stream fail as unavailable, not end', async () => {
  const peer = await new Peer().start();
  const calls = callsOf();
  await assert.rejects(
    async () => {
      for await (const _event of calls.forward(at(peer.address), request('stay'))) peer.server?.forceShutdown();
    },
    { code: 'unavailable' },
  );
});

test('a pushed configuration is accepted, or rejected with the reason of the node', async () => {
  const peer = await new Peer().start();
  const calls = callsOf();
  assert.deepEqual(await calls.pushConfig(at(peer.address), 'good'), { accepted: true, reason: null });
  assert.deepEqual(await calls.pushConfig(at(peer.address), 'bad'), {
    accepted: false,
    reason: 'spec.nodes: no such thing',
  });
  await assert.rejects(calls.pushConfig(at('not an address'), 'good'), /expected host:port/);
});

test('unused connections are closed: the longest unused for a new one, all after a while', async () => {
  const peers = await Promise.all([new Peer().start(), new Peer().start(), new Peer().start()]);
  const bounded = callsOf({ maxPeers: 2 });
  for (const { address } of peers) await bounded.pushConfig(at(address), 'good');
  assert.equal(bounded.connections(), 2);
  const [one, two, three] = peers;
  const streams = [one, two].map((peer) =>
    bounded.forward(at(peer?.address ?? ''), request('stay'))[Symbol.asyncIterator](),
  );
  await Promise.all(streams.map((stream) => stream.next()));
  await assert.rejects(bounded.pushConfig(at(three?.address ?? ''), 'good'), /the maximum; repeat the call later/);
  await Promise.all(streams.map((stream) => stream.return?.()));
  const brief = callsOf({ idleMs: 10 });
  await brief.pushConfig(at(one?.address ?? ''), 'good');
  await waitUntil('the idle connection to be closed', () => brief.connections() === 0);
});

test('a controller signs one token for itself, and a new one before that ends', async () => {
  let nowMs = 0;
  let issued = 0;
  const token = createControllerToken({
    tokens: {
      issue: async () => {
        issued += 1;
        if (issued === 1) throw new Error('the keys cannot be had');
        return { token: `token ${issued}`, expiresAt: nowMs + 3_600_000 };
      },
    },
    nodeId: 'controller-1',
    publicKeyPem: key.publicKeyPem,
    clock: { ...systemClock, now: () => nowMs },
  });
  await assert.rejects(token(), /cannot be had/);
  assert.deepEqual(await Promise.all([token(), token()]), ['token 2', 'token 2']);
  nowMs += 3_600_000 - 119_000;
  assert.equal(await token(), 'token 3');
});
