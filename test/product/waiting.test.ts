import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Metadata } from '@grpc/grpc-js';
import { stringify } from 'yaml';
import { z } from 'zod';
import { svc } from '../cli/svc-run.ts';
import { BUSYBOX, NEEDS_PODMAN, TestPodman } from '../support/podman.ts';
import { waitUntil } from '../support/wait-until.ts';
import { clientOf, ended, request } from '../transport/grpc/call.ts';
import { agentYaml, ProductNode } from './product-node.ts';

const WAITS = 'waiting for a node with tags gpu';

describe('work that needs a tag no node has', () => {
  let node: ProductNode;
  before(async () => {
    const cluster = { enabled: true, cluster_grpc_port: 0, heartbeat_interval_secs: 1 };
    node = await ProductNode.start({ spec: { cluster } });
  });
  after(() => node[Symbol.asyncDispose]());

  test('waits, says so over REST, gRPC and the command line, and runs when controllers give a node that tag', async () => {
    const agent = await node.deploy(agentYaml('tagged', { execution: { target_tags: ['gpu'] } }));
    const id = await node.run(agent, 'over REST');
    const waiting = await node.statusOf(id);
    assert.deepEqual(
      [waiting.status, waiting.waiting_for],
      ['pending', { kind: 'node', tags: ['gpu'], reason: WAITS }],
    );

    const client = clientOf(await node.process.grpcAddress);
    const call = client.executeAgent(request(agent, 'over gRPC'));
    const ending = ended(call);
    const first = await new Promise<Metadata>((resolve) => call.once('metadata', resolve));
    assert.deepEqual(first.get('svc-waiting-for'), [WAITS]);

    const shown = await svc(['--url', node.url, 'task', 'status', id]);
    assert.match(shown.stdout, new RegExp(WAITS));
    const { node: self, pools } = (await node.call('GET', '/v1/cluster/status')).body;
    assert.match(JSON.stringify(pools), new RegExp(WAITS));

    const tags = `nodes: {"${JSON.parse(JSON.stringify(self)).node_id}": {tags: [gpu]}}`;
    const yaml = `apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {${tags}}\n`;
    const put = await node.call('PUT', '/v1/cluster/config', {
      body: yaml,
      headers: { 'content-type': 'application/yaml' },
    });
    assert.equal(put.status, 200, put.text);
    await waitUntil('the first has run', async () => (await node.statusOf(id)).status === 'completed');
    const { code, events } = await ending;
    assert.equal(code, 'OK');
    assert.equal(events.at(-1)?.$case, 'execution_completed');
    assert.equal((await node.statusOf(id)).waiting_for, undefined);
    client.close();
  });
});

const OwnWait = z.object({ kind: z.string(), reason: z.string(), approval_id: z.string().optional() }).loose();
const Unfinished = z.object({ execution_id: z.string(), waiting_for: OwnWait.extend({ child: OwnWait.optional() }) });
type Wait = z.output<typeof Unfinished>['waiting_for'];

const wordsOf = ({ reason, child }: Wait): string => (child === undefined ? reason : `${reason}: ${child.reason}`);

/**
 * Waits until the execution gives an expected reason, with that of its child after it; one call must return the whole
 * chain.
 */
const waitOf = (node: ProductNode, path: string, reason: RegExp): Promise<Wait> =>
  waitUntil(
    `an execution with the reason ${reason}`,
    async () => {
      const seen = Unfinished.safeParse((await node.call('GET', path)).body);
      return seen.success && reason.test(wordsOf(seen.data.waiting_for)) && seen.data.waiting_for;
    },
    30_000,
  );

const stateOf = (name: string, state: object): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0' },
    spec: { initial_state: 'STEP', states: { STEP: { timeout: '10m', ...state, transitions: TO_END }, END } },
  });
const END = { kind: 'System', command: 'finalize', transitions: [] };
const TO_END = [{ condition: 'always', target: 'END' }];
const RUNS = { status: 'started', attempt: 1, runner: /^[^/]+\/[0-9a-f-]{36}$/ };
const UUID = /^[0-9a-f-]{36}$/;

/** Name, state, reason, further fields, and the sentence of the command line. */
const ROWS: readonly (readonly [string, object, RegExp, object, RegExp])[] = [
  [
    'effect',
    { kind: 'System', command: 'sleep 600' },
    /a command, attempt 1 on node/,
    { kind: 'effect', state_name: 'STEP', effects: [{ kind: 'command.run', ...RUNS }] },
    /waiting for a command, attempt 1 on node \S+ \(until .+\)/,
  ],
  [
    'approval',
    { kind: 'Human', prompt: 'May I?' },
    /waiting for a human/,
    { kind: 'approval', approval_id: UUID },
    /waiting for a human: approval [\da-f-]{36} \(until .+\)/,
  ],
  [
    'agent',
    { kind: 'Agent', agent: 'talks', input: 'sleepy' },
    /waiting for an agent: .*, attempt 1 on node/,
    {
      kind: 'child',
      child_execution_ids: [UUID],
      child: { kind: 'effect', effects: [{ kind: 'model.generate', ...RUNS }] },
    },
    /waiting for an agent \(until .+\): iteration 1 waits for its model, attempt 1 on node/,
  ],
  [
    'agent-without-node',
    { kind: 'Agent', agent: 'needs-tpu', input: 'x' },
    /waiting for an agent: /,
    { kind: 'child', child: { kind: 'node', tags: ['tpu'] } },
    /waiting for an agent \(until .+\): waiting for a node with tags tpu/,
  ],
  [
    'child',
    { kind: 'Subworkflow', workflow_id: 'approval' },
    /waiting for a child workflow: waiting for a human/,
    { kind: 'child', child_execution_ids: [UUID], child: { kind: 'approval', approval_id: UUID, state_name: 'STEP' } },
    /waiting for a child workflow \(until .+\): waiting for a human/,
  ],
  [
    'judges',
    {
      kind: 'ParallelAgents',
      agents: [
        { agent: 'talks', input: 'sleepy' },
        { agent: 'says', input: 'verdict' },
      ],
      consensus: { strategy: 'majority' },
    },
    /waiting for 1 of 2 judges: talks/,
    { kind: 'judges', judges: [{ agent: 'talks', execution_id: UUID, status: 'judging' }] },
    /waiting for 1 of 2 judges: talks/,
  ],
];

/** The expected members, patterns included; other members may be there. */
function assertHas(actual: unknown, expected: unknown): void {
  if (expected instanceof RegExp) {
    assert.match(String(actual), expected);
    return;
  }
  if (typeof expected !== 'object' || expected === null) {
    assert.equal(actual, expected);
    return;
  }
  assert.ok(typeof actual === 'object' && actual !== null, `expected ${JSON.stringify(expected)}`);
  if (Array.isArray(expected)) assert.equal(Object.keys(actual).length, expected.length);
  const members = new Map<string, unknown>(Object.entries(actual));
  for (const [key, value] of Object.entries(expected)) assertHas(members.get(key), value);
}

describe('one call shows what an unfinished execution waits for', () => {
  let node: ProductNode;
  const agents = new Map<string, string>();
  before(async () => {
    // One try an attempt: the effect is what is tried again, at a time in its record.
    node = await ProductNode.start({ spec: { llm_selection: { max_retries: 0 } } });
    for (const name of ['talks', 'says']) agents.set(name, await node.deploy(agentYaml(name)));
    await node.deploy(agentYaml('needs-tpu', { execution: { target_tags: ['tpu'] } }));
  });
  after(() => node[Symbol.asyncDispose]());

  for (const [name, state, reason, told, words] of ROWS) {
    test(`a workflow: ${name}`, async () => {
      const id = await node.runWorkflow(stateOf(name, state));
      assertHas(await waitOf(node, `/v1/workflows/executions/${id}`, reason), { until: /^20/, ...told });
      const shown = await svc(['--url', node.url, 'workflow', 'status', id]);
      assert.match(shown.stdout, new RegExp(`^waiting_for +${words.source}`, 'm'));
    });
  }

  test('an agent: its model, with the attempt, where it runs and until when', async () => {
    const id = await node.run(agents.get('talks') ?? '', 'sleepy');
    const wait = await waitOf(node, `/v1/executions/${id}`, /its model, attempt 1 on node/);
    assertHas(wait, { kind: 'effect', effects: [{ kind: 'model.generate', ...RUNS }], until: /^20/ });
    const shown = await svc(['--url', node.url, 'task', 'status', id]);
    assert.match(shown.stdout, /^waiting_for +iteration 1 waits for its model, attempt 1 on node \S+ \(until 20.+\)$/m);
  });

  test('an agent: a model that is tried again, at which time and why, which is logged too', async () => {
    const id = await node.run(agents.get('talks') ?? '', 'unavailable');
    const wait = await waitOf(
      node,
      `/v1/executions/${id}`,
      /its model, attempt \d begins at 20\S+; attempt \d failed: model_unavailable: .*answered 503/,
    );
    const last_error = { code: 'model_unavailable', message: /answered 503/ };
    const effect = { kind: 'model.generate', status: 'retrying', retry_at: /^20/, last_error };
    assertHas(wait, { kind: 'effect', effects: [effect] });
    const linesOf = () => node.process.log.split('\n').filter((one) => one.includes('503') && one.includes(id));
    await waitUntil('the log has a line', () => linesOf().length > 0);
    const lines = linesOf().map((one) => JSON.parse(one));
    const [{ event, tenant, attempt, next_try_at, code, error }] = lines;
    assert.deepEqual([event, tenant, attempt, code], ['effect_retried', 'svc-system', 1, 'model_unavailable']);
    assert.match(next_try_at, /^20/);
    assert.equal(lines.filter((one) => one.attempt === 1).length, 1, 'one line for each attempt');
    assert.match(error, /answered 503/);
  });

  test('a run that names its workflow execution is shown and found by it; an unknown one is refused', async () => {
    const run = await node.runWorkflow(stateOf('human', { kind: 'Human', prompt: 'well?' }));
    const agent_id = agents.get('talks') ?? '';
    const start = (workflow_execution_id: string) =>
      node.json('POST', '/v1/executions', { agent_id, input: 'hello', workflow_execution_id });
    const { status, body, text } = await start(run.toUpperCase());
    assert.equal(status, 200, text);
    const id = String(body.execution_id);
    const shown = await node.call('GET', `/v1/executions/${id}`);
    assert.equal(shown.body.workflow_execution_id, run);
    const found = await waitUntil('it is listed', async () => {
      const listed = await node.call('GET', `/v1/executions?workflow_execution_id=${run}`);
      const { executions } = listed.body;
      return Array.isArray(executions) && executions.length > 0 && executions;
    });
    assert.deepEqual(
      found.map(({ execution_id }) => execution_id),
      [id],
    );
    const unknown = await start(crypto.randomUUID());
    assert.equal(unknown.status, 400);
    assert.match(unknown.text, /workflow_execution_id: no workflow execution has this id/);
    const client = clientOf(await node.process.grpcAddress);
    const refused = await ended(
      client.executeAgent(request(agent_id, 'hello', { workflow_execution_id: crypto.randomUUID() })),
    );
    client.close();
    assert.equal(refused.code, 'INVALID_ARGUMENT');
  });

  test('an agent whose provider refuses its call does not wait: it ends at once, with code and cause', async () => {
    const id = await node.run(agents.get('talks') ?? '', 'unpaid');
    const ended = await waitUntil('it has ended', async () => {
      const { body } = await node.call('GET', `/v1/executions/${id}`);
      return body.outcome !== null && body;
    });
    const { status, outcome, iteration_count, error, waiting_for } = ended;
    assert.deepEqual([status, outcome, iteration_count, waiting_for], ['failed', 'failed', 1, undefined]);
    assertHas(error, { code: 'model_refused', message: /answered 401/, cause: null });
    const { body } = await node.call('GET', `/v1/executions/${id}/events`);
    const first = await node.call('GET', `/v1/executions/${id}/events?limit=3`);
    const token = String(first.body.next_page_token);
    const next = await node.call('GET', `/v1/executions/${id}/events?limit=3&page_token=${token}`);
    assert.deepEqual([first.body.events, next.body.events].flat(), body.events);
    assert.equal(next.body.next_page_token, undefined);
    assert.equal((await node.call('GET', `/v1/executions/${id}/events?page_token=made-up`)).status, 400);
    assert.match(JSON.stringify(body), /"reason":"model_refused".*"message":".*answered 401/);
  });
});

test('a pause between attempts of a container is a timer, and says until when', NEEDS_PODMAN, async (context) => {
  const podman = await TestPodman.start();
  context.after(() => podman[Symbol.asyncDispose]());
  const node = await ProductNode.start({ spec: { runtime: { container_socket_path: podman.socketPath } } });
  context.after(() => node[Symbol.asyncDispose]());
  const retry = { max_attempts: 2, backoff: '5m' };
  const state = { kind: 'ContainerRun', image: BUSYBOX, command: ['false'], image_pull_policy: 'Never', retry };
  const id = await node.runWorkflow(stateOf('timer', state));
  const wait = await waitOf(node, `/v1/workflows/executions/${id}`, /attempt 2 of its container starts at 20/);
  assertHas(wait, { kind: 'timer', state_name: 'STEP', until: /^20/ });
});
