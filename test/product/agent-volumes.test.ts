import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import type { Rule } from '../support/node-config.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Answer, agentYaml, ProductNode } from './product-node.ts';
import { type CallerName, Realms } from './realms.ts';

const command = (script: string) => ({ name: 'cmd.run', arguments: { command: 'sh', args: ['-c', script] } });
const write = (path: string, content: string) => ({ name: 'fs.write', arguments: { path, content } });
const read = (path: string) => ({ name: 'fs.read', arguments: { path } });

const REFUSED = 'cd /workspace; cat scratch/note; echo changed > shared/known || echo "refused with $?"';

type Step = readonly [call: object, sees: string | readonly string[]];

/** The agent makes one call after another while each result is the expected one, and then answers `as expected`. */
const rulesOf = (task: string, ...steps: readonly Step[]): Rule[] => [
  ...steps.map(([call], at) => {
    const seen = at === 0 ? {} : { tool_contains: steps[at - 1]?.[1] };
    return { match: { contains: task, round: at + 1, ...seen }, reply: { tool_calls: [call] } };
  }),
  { match: { contains: task, tool_contains: steps.at(-1)?.[1] }, reply: 'as expected' },
];

const RULES = [
  ...rulesOf(
    'work',
    [write('/workspace/scratch/note', 'written by a tool'), 'bytes)'],
    [read('/workspace/shared/known'), 'kept by the tenant'],
    [write('/workspace/shared/known', 'changed'), 'is mounted read-only'],
    [write('/workspace/scratch/large', 'x'.repeat(70_000)), 'ENOSPC'],
    [command(REFUSED), ['written by a tool', 'refused with']],
  ),
  ...rulesOf('keep', [write('/workspace/scratch/note', 'written by a tool'), 'bytes)']),
  ...rulesOf('look', [read('/workspace/scratch/note'), 'does not exist']),
  { reply: 'something else' },
];

/** Limit for the rounds of a run on a busy machine. */
const MOST_MS = 60_000;

const VOLUMES = [
  {
    ...{ name: 'scratch', storage_class: 'ephemeral', ttl_hours: 2, size_limit: '64Ki' },
    ...{ mount_path: '/workspace/scratch', access_mode: 'read-write' },
  },
  {
    ...{ name: 'shared', storage_class: 'persistent', source: { volume_id: '{{input.volume}}' } },
    ...{ mount_path: '/workspace/shared', access_mode: 'read-only' },
  },
];

const AGENT = {
  tools: ['fs.*', { name: 'cmd.run', executor: 'builtin:cmd', config: { subcommand_allowlist: { sh: ['-c'] } } }],
};

const flow = stringify({
  ...{ apiVersion: 'svc.dev/v1', kind: 'Workflow', metadata: { name: 'given', version: '1.0.0' } },
  spec: {
    initial_state: 'make',
    storage: { shared_volumes: [{ name: 'given', storage_class: 'ephemeral', ttl_hours: 1 }] },
    states: {
      make: {
        ...{ kind: 'Agent', agent: 'scratching', input: 'keep' },
        volumes: [{ volume: 'given', mount_path: '/workspace/scratch', access_mode: 'read-write' }],
        transitions: [{ condition: 'always', target: 'look' }],
      },
      look: { kind: 'Agent', agent: 'scratching', input: 'look', transitions: [] },
    },
  },
});

describe('the volumes of an agent’s manifest are mounted in its executions', () => {
  let realms: Realms;
  let node: ProductNode;
  let persistent = '';

  const as = async (caller: CallerName, method: string, path: string, body?: unknown): Promise<Answer> =>
    node.json(method, path, body, await realms.headers(caller));
  const ended = (id: string): Promise<Answer> =>
    waitUntil(
      `the end of ${id}`,
      async () => {
        const run = await as('alphaAdmin', 'GET', `/v1/executions/${id}`);
        return run.body.status === 'running' ? undefined : run;
      },
      MOST_MS,
    );
  /** The tenant's volumes by name. */
  const volumes = async (): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> => {
    const { body } = await as('alphaAdmin', 'GET', '/v1/volumes');
    assert.ok(Array.isArray(body.volumes), JSON.stringify(body));
    return new Map(body.volumes.map((one: { readonly name: string }) => [one.name, { ...one }]));
  };
  const content = async (volume: unknown, path: string): Promise<Answer> =>
    as('alphaAdmin', 'GET', `/v1/volumes/${String(volume)}/files/content?path=${path}`);

  before(async () => {
    realms = await Realms.open();
    node = await ProductNode.start({
      rules: RULES,
      spec: {
        ...realms.spec,
        runtime: { host_commands: { allow: ['alpha', 'beta', 'u-carl'] } },
      },
    });
    for (const caller of ['alphaAdmin', 'betaAdmin'] as const) {
      const headers = await realms.headers(caller);
      await node.deploy(agentYaml('worker', { ...AGENT, volumes: VOLUMES }), headers);
      await node.deploy(agentYaml('scratching', { ...AGENT, volumes: VOLUMES.slice(0, 1) }), headers);
    }
    const made = await as('alphaAdmin', 'POST', '/v1/volumes', { name: 'data', storage_class: 'persistent' });
    persistent = String(made.body.id);
    const put = await node.call('PUT', `/v1/volumes/${persistent}/files/content?path=known`, {
      body: 'kept by the tenant',
      headers: await realms.headers('alphaAdmin'),
    });
    assert.equal(put.status, 200, put.text);
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });

  const start = (caller: CallerName, agent: string, input: string) =>
    as(caller, 'POST', '/v1/executions', { agent_id: agent, input });
  const work = (volume: string): string => JSON.stringify({ volume, task: 'work' });

  test('an ephemeral volume of its size for each run, and a persistent one by the input, read-only to tools and commands', async () => {
    const started = await start('serviceForAlpha', 'worker', work(persistent));
    assert.equal(started.status, 200, started.text);
    const id = String(started.body.execution_id);
    const run = await ended(id);
    assert.deepEqual([run.body.status, run.body.last_output], ['completed', 'as expected'], run.text);
    const scratch = (await volumes()).get(`${id}/volumes/scratch`);
    assert.deepEqual([scratch?.storage_class, scratch?.size_limit_bytes], ['ephemeral', 65_536]);
    assert.equal((await content(scratch?.id, 'note')).text, 'written by a tool');
    assert.equal((await content(persistent, 'known')).text, 'kept by the tenant');
    const lastsMs = Date.parse(String(scratch?.expires_at)) - Date.parse(String(scratch?.created_at));
    assert.ok(Math.abs(lastsMs - 2 * 3_600_000) < 60_000, String(lastsMs));
  });

  test('a volume of another tenant is 404 at the start like one that never existed, and no volume is made', async () => {
    const before = [...(await volumes()).keys()];
    const [others, none] = [await start('serviceForBeta', 'worker', work(persistent)), randomUUID()];
    const unknown = await start('serviceForAlpha', 'worker', work(none));
    for (const answer of [others, unknown]) {
      assert.equal(answer.status, 404, answer.text);
      assert.deepEqual(answer.body, { error: 'spec.volumes[1].source.volume_id: volume not found' });
    }
    const tool = await as('serviceForBeta', 'POST', '/v1/tools/svc.task.execute', {
      agent_id: 'worker',
      input: { volume: persistent },
    });
    assert.match(tool.text, /volume not found/);
    const empty = await start('serviceForAlpha', 'worker', 'work');
    assert.equal(empty.status, 400, empty.text);
    assert.match(empty.text, /spec\.volumes\[1\]\.source\.volume_id: \{\{input\.volume\}\} has no value/);
    assert.deepEqual([...(await volumes()).keys()], before);
  });

  test('a caller of the free tier may not name a persistent volume', async () => {
    const answer = await start('alphaUser', 'worker', work(persistent));
    assert.equal(answer.status, 403, answer.text);
    assert.match(answer.text, /spec\.volumes\[1\]\.source\.volume_id: volumes are for tier pro and above/);
  });

  test('a volume that a workflow’s state mounts at the same path is used instead of the manifest’s', async () => {
    const headers = { ...(await realms.headers('alphaAdmin')), 'content-type': 'application/yaml' };
    const deployed = await node.call('POST', '/v1/workflows', { body: flow, headers });
    assert.equal(deployed.status, 200, deployed.text);
    const started = await as('alphaAdmin', 'POST', '/v1/workflows/given/run', {});
    const id = String(started.body.execution_id);
    const run = await waitUntil(
      'the workflow to end',
      async () => {
        const found = await as('alphaAdmin', 'GET', `/v1/workflows/executions/${id}`);
        return found.body.ended_at === null ? undefined : found;
      },
      MOST_MS,
    );
    // The second state has a volume of its own.
    assert.deepEqual(
      [...run.text.matchAll(/"output":"([^"]*)"/g)].map(([, said]) => said).at(-1),
      'as expected',
      run.text,
    );
    const made = await volumes();
    assert.equal((await content(made.get(`${id}/shared/given`)?.id, 'note')).text, 'written by a tool');
  });

  test('a deploy refuses a size that the node does not allow, and names its place in the manifest', async () => {
    const large = [{ ...VOLUMES[0], size_limit: '64Gi' }];
    const answer = await node.call('POST', '/v1/agents', {
      body: agentYaml('large', { volumes: large }),
      headers: { ...(await realms.headers('alphaAdmin')), 'content-type': 'application/yaml' },
    });
    assert.equal(answer.status, 422, answer.text);
    assert.match(answer.text, /"path":"spec\.volumes\[0\]\.size_limit","line":\d+,"column":\d+/);
  });
});
