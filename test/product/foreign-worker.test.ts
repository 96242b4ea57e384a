import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Server, ServerCredentials, type ServerWritableStream, status } from '@grpc/grpc-js';
import { z } from 'zod';
import {
  ForwardExecutionRequest,
  NodeClusterServiceService,
  type SealNodeEnvelope,
} from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { ExecutionEvent } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { svc } from '../cli/svc-run.ts';
import { waitUntil } from '../support/wait-until.ts';
import { IndependentWorker } from '../transport/cluster/independent-worker.ts';
import { PageClient } from '../transport/cluster/page.ts';
import { agentYaml, ProductNode } from './product-node.ts';

type Stream = ServerWritableStream<SealNodeEnvelope, ExecutionEvent>;

const AT = '2026-01-01T00:00:00.000Z';

/**
 * A worker of another implementation, written from the tables of document 1: it registers, and accepts
 * ForwardExecution.
 */
class Worker {
  readonly stranger: IndependentWorker;
  readonly runs: { readonly request: ForwardExecutionRequest; readonly tenant: string; readonly stream: Stream }[] = [];
  readonly #client: PageClient;
  readonly #server = new Server();
  #beating: NodeJS.Timeout | undefined;
  /** State in its heartbeats: 1 is DRAINING. */
  status = 0;

  constructor(nodeId: string, controller: string) {
    this.#client = new PageClient(controller);
    this.stranger = new IndependentWorker(nodeId, this.#client);
  }

  async join(tags: readonly string[]): Promise<this> {
    const refuse = (_call: unknown, done: (error: object) => void) => done({ code: status.UNIMPLEMENTED });
    const names = Object.keys(NodeClusterServiceService);
    this.#server.addService(NodeClusterServiceService, {
      ...Object.fromEntries(names.map((name) => [name, refuse])),
      forwardExecution: (stream: Stream) => {
        const request = ForwardExecutionRequest.decode(stream.request.payload);
        this.runs.push({ request, tenant: String(stream.metadata.get('x-tenant-id')[0]), stream });
      },
    });
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
        error === null ? resolve(at) : reject(error),
      );
    });
    await this.stranger.join({ tags }, { 'svc-node-grpc-address': `127.0.0.1:${port}` });
    this.#beating = setInterval(() => void this.stranger.heartbeat({ status: this.status }), 500);
    return this;
  }

  /** The last run that it received, or the next one. */
  run(at: number): Promise<Worker['runs'][number]> {
    return waitUntil(`run ${at} was forwarded`, () => this.runs[at]);
  }

  /** Stops at once, without deregistration. */
  die(): void {
    clearInterval(this.#beating);
    this.#server.forceShutdown();
    this.#client.close();
  }
}

const says = ({ request: { execution_id }, stream }: Worker['runs'][number], ...events: ExecutionEvent['event'][]) => {
  for (const event of events) {
    if (event === undefined) continue;
    stream.write({ event: { ...event, value: { ...event.value, execution_id } } as ExecutionEvent['event'] });
  }
};

const started: ExecutionEvent['event'] = {
  $case: 'execution_started',
  value: { execution_id: '', agent_id: 'a', started_at: AT },
};
const begins: ExecutionEvent['event'] = {
  $case: 'iteration_started',
  value: { execution_id: '', iteration_number: 1, action: 'generate', started_at: AT },
};
const ends = (output: string): ExecutionEvent['event'][] => [
  { $case: 'iteration_completed', value: { execution_id: '', iteration_number: 1, output, completed_at: AT } },
  {
    $case: 'execution_completed',
    value: { execution_id: '', final_output: output, total_iterations: 1, completed_at: AT },
  },
];

describe('a worker of another implementation, which is registered but is not a member of the fleet', {
  timeout: 300_000,
}, () => {
  let node: ProductNode;
  let controller = '';
  const workers: Worker[] = [];
  const joined = async (id: string, tags: readonly string[]): Promise<Worker> => {
    const worker = await new Worker(id, controller).join(tags);
    workers.push(worker);
    return worker;
  };
  before(async () => {
    const cluster = { enabled: true, role: 'hybrid', cluster_grpc_port: 0, heartbeat_interval_secs: 1 };
    node = await ProductNode.start({ spec: { cluster } });
    controller = await node.process.clusterAddress;
    await node.deploy(agentYaml('painter', { execution: { target_tags: ['gpu'] } }));
    await node.deploy(agentYaml('sailor', { execution: { target_tags: ['sea'] } }));
  });
  after(async () => {
    for (const worker of workers) worker.die();
    await node?.[Symbol.asyncDispose]();
  });

  const start = async (agent: string, input: string, context: object = {}): Promise<string> => {
    const answer = await node.json('POST', '/v1/executions', { agent_id: agent, input, context });
    assert.equal(answer.status, 200, answer.text);
    return String(answer.body.execution_id);
  };

  test('gets the runs whose tags only it has, and its events become theirs', async () => {
    const worker = await joined('painter-1', ['gpu', 'fast']);
    const id = await start('painter', 'a horse', { colour: { name: 'red' }, size: 3 });
    const run = await worker.run(0);
    const { execution_id, input, manifest_yaml, context_json } = run.request;
    assert.deepEqual([execution_id, input, run.tenant], [id, 'a horse', 'svc-system']);
    assert.deepEqual(JSON.parse(context_json), { colour: { name: 'red' }, size: 3 });
    assert.match(manifest_yaml, /name: painter/);
    says(run, started, begins, ...ends('a painted horse'));
    run.stream.end();
    await waitUntil('it has completed', async () => (await node.statusOf(id)).status === 'completed');
    const { body } = await node.call('GET', `/v1/executions/${id}`);
    assert.deepEqual([body.outcome, body.last_output], ['succeeded', 'a painted horse']);
    const stream = await node.call('GET', `/v1/executions/${id}/stream`);
    const names = [...stream.text.matchAll(/^data: \{"(\w+)"/gm)].map(([, name]) => name);
    assert.deepEqual(names, ['execution_started', 'iteration_started', 'iteration_completed', 'execution_completed']);
  });

  test('its runs continue elsewhere when it dies; the state names the reason why they wait, and the next worker gets them', async () => {
    const worker = await joined('sailor-1', ['sea']);
    const id = await start('sailor', 'to the island');
    const run = await worker.run(0);
    says(run, started, begins);
    await waitUntil('the iteration has begun', async () => (await node.statusOf(id)).iteration_count === 1);
    worker.die();
    const waiting = await waitUntil(
      'the state has the reason why it waits',
      async () => {
        const { body } = await node.call('GET', `/v1/executions/${id}`);
        const { reason = '' } = Object(body.waiting_for);
        return /no worker (?:has|is)/.test(reason) && reason;
      },
      40_000,
    );
    assert.match(waiting, /its worker/);
    const next = await joined('sailor-2', ['sea']);
    const again = await next.run(0);
    assert.equal(again.request.execution_id, id);
    says(again, started, begins, ...ends('at the island'));
    again.stream.end();
    await waitUntil('it has completed', async () => (await node.statusOf(id)).status === 'completed');
    const { body } = await node.call('GET', `/v1/executions/${id}`);
    assert.equal(body.last_output, 'at the island');
    assert.ok(Number(body.in_doubt) >= 1, 'the attempt of the lost worker is counted');
  });

  test('is in the lists of nodes with its tags and last heartbeat, marked as no member', async () => {
    await joined('listed-1', ['paint', 'oil']);
    const { body } = await node.call('GET', '/v1/cluster/nodes?tag=oil');
    const [only] = z.array(z.looseObject({})).parse(body.nodes);
    assert.deepEqual(
      [only?.node_id, only?.member, only?.registered, only?.status, only?.tags],
      ['listed-1', false, true, 'ACTIVE', ['paint', 'oil']],
    );
    assert.ok(Date.parse(String(only?.last_heartbeat_at)) > Date.now() - 60_000);
    const { stdout } = await svc(['--url', node.url, 'node', 'list']);
    assert.match(stdout, /^listed-1 +ACTIVE +WORKER +paint,oil +- +- +\S+Z +outside$/m);
    assert.match(stdout, / yes$/m);
  });

  test('is named as draining by RouteExecution when it drains', async () => {
    const worker = await joined('idle-1', ['eu']);
    worker.status = 1;
    await worker.stranger.heartbeat({ status: 1 });
    const routed = await worker.stranger.call('RouteExecution', {
      execution_id: '7d6f1c1a-3a50-4f7b-9a55-0a4b2f1c9e01',
      required: { tags: ['eu'] },
    });
    assert.equal(routed.code, 'RESOURCE_EXHAUSTED');
    assert.match(routed.details, /worker idle-1 has it and is draining/);
  });
});
