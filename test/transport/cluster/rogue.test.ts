import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  Client,
  credentials,
  type Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { createControllerToken } from '../../../cluster/registration/registration.ts';
import { createClusterCalls } from '../../../cluster/registration/routing-client.ts';
import { SealNodeEnvelope, NodeClusterServiceService as service } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { OPERATOR } from '../../actors/node-peer/controller.ts';
import { newNodeKey, RegisteredNode } from '../../cluster/registered-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { IndependentWorker } from './independent-worker.ts';
import { type FleetNode, fleetNode } from './node.ts';
import { eventsOf, PageClient } from './page.ts';

const asBytes = (value: Buffer): Buffer => value;

/** One message as it went over the wire. */
interface Recorded {
  /** Name of the RPC. */
  readonly method: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly request: Buffer;
}

/** An attacker between two nodes who has none of their keys: it records every message and forwards or holds it. */
class WireTap {
  readonly recorded: Recorded[] = [];
  /** Names of RPCs that it drops. */
  readonly held = new Set<string>();
  // Without its bookkeeping the library finds no connection to cut.
  readonly #server = new Server({ 'grpc.enable_channelz': 1 });
  #behind: Client;
  address = '';

  constructor(behind: string) {
    this.#behind = new Client(behind, credentials.createInsecure());
  }

  async listen(): Promise<this> {
    const methods: Record<string, MethodDefinition<Buffer, Buffer>> = {};
    const handlers: UntypedServiceImplementation = {};
    for (const [name, definition] of Object.entries(service)) {
      const { path, requestStream, responseStream } = definition;
      const bytes = { requestSerialize: asBytes, requestDeserialize: asBytes };
      const answers = { responseSerialize: asBytes, responseDeserialize: asBytes };
      methods[name] = { path, requestStream, responseStream, ...bytes, ...answers };
      handlers[name] = responseStream
        ? (call: ServerWritableStream<Buffer, Buffer>) => this.#stream(path, call)
        : (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => this.#unary(path, call, done);
    }
    this.#server.addService(methods, handlers);
    const port = await new Promise<number>((resolve, reject) =>
      this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
        error === null ? resolve(at) : reject(error),
      ),
    );
    this.address = `127.0.0.1:${port}`;
    return this;
  }

  /** Sends further calls to another server. */
  moveTo(behind: string): void {
    this.#behind.close();
    this.#behind = new Client(behind, credentials.createInsecure());
  }

  close(): void {
    this.#server.forceShutdown();
    this.#behind.close();
  }

  /** The last recorded message of a method. */
  last(method: string): Recorded {
    const found = this.recorded.findLast((one) => one.method === method);
    if (found === undefined) throw new Error(`no ${method} was recorded`);
    return found;
  }

  #unary(path: string, call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void {
    if (this.#keep(path, call)) return;
    let answer: Buffer | undefined;
    this.#behind
      .makeUnaryRequest(path, asBytes, asBytes, call.request, call.metadata, (_error, bytes) => {
        answer = bytes;
      })
      .on('status', (status) => {
        // The answer arrives before the status or right after it.
        setImmediate(() => (status.code === 0 ? done(null, answer, status.metadata) : done(status)));
      });
  }

  #stream(path: string, call: ServerWritableStream<Buffer, Buffer>): void {
    if (this.#keep(path, call)) return;
    const behind = this.#behind.makeServerStreamRequest(path, asBytes, asBytes, call.request, call.metadata);
    behind.on('data', (bytes: Buffer) => call.write(bytes));
    behind.on('error', () => {
      // The status has the error.
    });
    behind.on('status', (status) => (status.code === 0 ? call.end(status.metadata) : call.emit('error', status)));
    call.on('cancelled', () => behind.cancel());
  }

  #keep(path: string, { metadata, request }: { readonly metadata: Metadata; readonly request: Buffer }): boolean {
    const method = path.slice(path.lastIndexOf('/') + 1);
    const known = ['authorization', 'svc-proof', 'svc-node-grpc-address', 'x-tenant-id', 'svc-join-token'];
    const shown = known.flatMap((key) => metadata.get(key).map((value) => [key, String(value)]));
    this.recorded.push({ method, metadata: Object.fromEntries(shown), request });
    return this.held.has(method);
  }
}

const SERVICE = '/svc.cluster.v1.NodeClusterService/';
const ENVELOPED = [
  ...['RegisterNode', 'Heartbeat', 'DeregisterNode', 'RouteExecution'],
  ...['ForwardExecution', 'SyncConfig', 'PushConfig', 'ListPeers'],
];
const CONFIG = 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {}\n';
const MANIFEST = `
apiVersion: svc.dev/v1
kind: Agent
metadata: {name: forwarded, version: 1.0.0}
spec: {task: {instruction: Answer.}}
`;

/** A call by an attacker who has only what was on the wire. */
async function replayed(
  address: string,
  { method, metadata, request }: Recorded,
): Promise<{ readonly code: string; readonly details: string }> {
  const client = new PageClient(address);
  try {
    if (method === 'ForwardExecution') return await eventsOf(client.stream(`${SERVICE}${method}`, request, metadata));
    return await client.unary(method, request, metadata);
  } finally {
    client.close();
  }
}

describe('a rogue worker that recorded messages between nodes', { timeout: 300_000 }, () => {
  let aheadMs = 0;
  let at: FleetNode;
  let tap: WireTap;
  let worker: RegisteredNode;
  let another = '';
  let restarted = '';
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const calls: { close(): void }[] = [];
  const executions: string[] = [];

  before(async () => {
    at = await fleetNode({ nodeId: 'node-1', clock });
    [another, restarted] = await Promise.all([at.listenAs('node-2'), at.listenAs('node-1')]);
    tap = await new WireTap(at.address).listen();
    const key = newNodeKey();
    worker = new RegisteredNode([tap.address], { nodeId: 'worker-1', key, heartbeatIntervalMs: 60_000 });
    await waitUntil('a heartbeat', () => worker.registration.state().phase === 'registered');
    const controller = newNodeKey();
    const nodeToken = createControllerToken({
      ...{ tokens: at.tokens, nodeId: 'ctl' },
      ...{ publicKeyPem: controller.publicKeyPem, clock: systemClock },
    });
    const own = createClusterCalls({
      credentials: credentials.createInsecure(),
      ...{ nodeToken, privateKey: controller.privateKey },
    });
    calls.push(own);
    const to = { nodeId: 'node-1', grpcAddress: tap.address };
    assert.deepEqual(await own.pushConfig(to, CONFIG), { accepted: true, reason: null });
    const execution_id = randomUUID();
    executions.push(execution_id);
    const forward = { execution_id, agent_id: 'a', manifest_yaml: MANIFEST, input: 'six', context_json: '' };
    for await (const _event of own.forward(to, forward));
  });
  after(async () => {
    for (const one of calls) one.close();
    await worker[Symbol.asyncDispose]();
    tap.close();
    await at[Symbol.asyncDispose]();
  });

  /** All state that a call could have changed. */
  const effects = async (): Promise<string> => {
    const peers = await at.peers.list();
    return JSON.stringify([
      peers,
      at.applied,
      await Promise.all(executions.map((id) => at.executions.status('svc-system', id))),
    ]);
  };
  const refusedEverywhere = async (messages: readonly Recorded[], addresses: readonly string[]): Promise<number> => {
    let tried = 0;
    for (const address of addresses) {
      for (const message of messages) {
        const answer = await replayed(address, message);
        assert.equal(answer.code, 'UNAUTHENTICATED', `${message.method} at ${address}: ${answer.details}`);
        tried += 1;
      }
    }
    return tried;
  };
  const proven = (): Recorded[] => tap.recorded.filter(({ metadata }) => metadata['svc-proof'] !== undefined);

  test('a rogue worker gets nothing by replaying messages: to each method, to other receivers, after a restart', async () => {
    await at.peers.drain('worker-1', OPERATOR);
    const before = await effects();
    const kinds = new Set(proven().map(({ method }) => method));
    assert.deepEqual([...kinds].sort(), ['ForwardExecution', 'Heartbeat', 'PushConfig', 'RegisterNode', 'SyncConfig']);
    const aimed = proven().flatMap((message) => ENVELOPED.map((method) => ({ ...message, method })));
    const tried = await refusedEverywhere(aimed, [at.address, another, restarted]);
    assert.ok(tried >= 5 * 8 * 3, `${tried} replays`);
    assert.equal(await effects(), before);
  });

  test('gets nothing by omitting the proof', async () => {
    const before = await effects();
    const bare = proven().map(({ metadata: { 'svc-proof': _proof, ...metadata }, ...message }) => ({
      ...message,
      metadata,
    }));
    await refusedEverywhere(
      bare.flatMap((message) => ENVELOPED.map((method) => ({ ...message, method }))),
      [at.address, another],
    );
    assert.equal(await effects(), before);
  });

  test('gets nothing by delaying a message, changed or to another method', async () => {
    tap.held.add('Heartbeat');
    const known = tap.recorded.length;
    worker.registration.heartbeatNow();
    await waitUntil('the heartbeat that is kept back', () => tap.recorded.length > known);
    tap.held.clear();
    const kept = tap.last('Heartbeat');
    const before = await effects();
    const others = ENVELOPED.filter((method) => method !== 'Heartbeat').map((method) => ({ ...kept, method }));
    const tenant = { ...kept, metadata: { ...kept.metadata, 'x-tenant-id': 'acme' } };
    const address = { ...kept, metadata: { ...kept.metadata, 'svc-node-grpc-address': '10.6.6.6:50056' } };
    const opened = SealNodeEnvelope.decode(kept.request);
    const payload = Buffer.from(opened.payload);
    payload[payload.length - 1] = (payload.at(-1) ?? 0) ^ 1;
    const changed = { ...kept, request: Buffer.from(SealNodeEnvelope.encode({ ...opened, payload }).finish()) };
    await refusedEverywhere([...others, tenant, address, changed], [at.address]);
    await refusedEverywhere([kept], [another, restarted]);
    aheadMs = 31_000;
    await refusedEverywhere([kept], [at.address]);
    aheadMs = 0;
    assert.equal(await effects(), before);
    // Within its window it is the node's own message, and is accepted once.
    assert.equal((await replayed(at.address, kept)).code, 'OK');
    await refusedEverywhere([kept], [at.address]);
  });

  test('gets no proof for another node by taking that node’s name', async () => {
    const told = new WireTap(another);
    await told.listen();
    const own = newNodeKey();
    const calling = createClusterCalls({
      credentials: credentials.createInsecure(),
      nodeToken: createControllerToken({
        ...{ tokens: at.tokens, nodeId: 'ctl-9' },
        ...{ publicKeyPem: own.publicKeyPem, clock: systemClock },
      }),
      privateKey: own.privateKey,
    });
    const before = at.applied.length;
    // The rogue node registers as itself and forwards what it gets to node-2, whose name and incarnation it claims.
    const rogue = { nodeId: 'rogue', grpcAddress: told.address };
    await assert.rejects(calling.pushConfig(rogue, CONFIG), /proof is for another node/);
    assert.equal(at.applied.length, before);
    calling.close();
    told.close();
  });
});

describe('a fleet with old and new nodes', { timeout: 300_000 }, () => {
  test('an old worker works beside a new one until proofs are required', async () => {
    await using at = await fleetNode();
    const client = new PageClient(at.address);
    const old = await new IndependentWorker('old', client).join();
    await using worker = new RegisteredNode([at.address], { nodeId: 'new', heartbeatIntervalMs: 50 });
    await waitUntil(
      'both',
      async () => (await at.peers.list()).length === 2 && worker.registration.state().phase === 'registered',
    );
    assert.equal((await old.heartbeat()).code, 'OK');
    const strict = new PageClient(await at.listenAs('node-1', true));
    const answer = await strict.unary('ListPeers', old.seal(Buffer.alloc(0)), old.metadata());
    assert.equal(answer.code, 'UNAUTHENTICATED');
    assert.equal(answer.metadata.at(-1)?.get('svc-error-reason')[0], 'proof_required');
    for (const one of [client, strict]) one.close();
  });

  test('a controller whose clock is minutes off gets proofs with its own time', async () => {
    const off = { ...systemClock, now: () => Date.now() + 300_000 };
    await using at = await fleetNode({ clock: off, requireProof: true });
    await using worker = new RegisteredNode([at.address], { nodeId: 'w' });
    await waitUntil('a heartbeat', () => worker.registration.state().phase === 'registered');
    assert.ok(!worker.said('warn', /not registered/), JSON.stringify(worker.lines));
  });

  test('a controller that restarts gets proofs for its new incarnation at once', async () => {
    await using at = await fleetNode({ requireProof: true });
    const tap = await new WireTap(at.address).listen();
    await using worker = new RegisteredNode([tap.address], { nodeId: 'w', heartbeatIntervalMs: 60_000 });
    await waitUntil('a heartbeat', () => worker.registration.state().phase === 'registered');
    await waitUntil('its configuration', () => worker.configs.length > 0);
    const beats = tap.recorded.filter(({ method }) => method === 'Heartbeat').length;
    tap.moveTo(await at.listenAs('node-1'));
    worker.registration.heartbeatNow();
    const count = () => tap.recorded.filter(({ method }) => method === 'Heartbeat').length;
    await waitUntil('a beat and its repetition', () => count() === beats + 2);
    assert.ok(!worker.said('warn', /not registered/), JSON.stringify(worker.lines));
    tap.close();
  });
});

/** The hash still holds for nodes without proofs. */
test('messages of an old controller are accepted', async () => {
  await using at = await fleetNode();
  const key = newNodeKey();
  const { token } = await at.tokens.issue({ nodeId: 'ctl-old', role: 'CONTROLLER', publicKeyPem: key.publicKeyPem });
  const client = new PageClient(at.address);
  const controller = Object.assign(new IndependentWorker('ctl-old', client), { token, privateKey: key.privateKey });
  const config_hash = createHash('sha256').update(CONFIG).digest('hex');
  assert.equal((await controller.call('PushConfig', { config_yaml: CONFIG, config_hash })).message.accepted, true);
  client.close();
});
