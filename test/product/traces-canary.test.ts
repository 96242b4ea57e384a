import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Answer, agentYaml, ProductNode } from './product-node.ts';
import { DONE, workflowText } from './tenant-objects.ts';

const CANARY = 'canary-9c41e7d2';

/**
 * One secret for every place that takes one: settings, the secret store, an API key, and values that callers send by
 * mistake.
 */
const SPEC = {
  builtin_dispatchers: [{ name: 'cmd', api_key: CANARY }],
  security_contexts: [{ name: 'any', capabilities: [{ tool_pattern: '*' }] }],
  stimulus: { webhooks: [{ source: 'hooked', scheme: 'github', secrets: ['env:OF_THE_HOOK'] }] },
};

const FILE = '/workspace/key.txt';

/** A model that outputs the secret, passes it to a tool, and gets it from one. */
const RULES = [
  {
    match: { contains: 'keep', round: 1 },
    reply: {
      text: `I keep Bearer ${CANARY}. `,
      tool_calls: [{ name: 'fs.write', arguments: { path: FILE, content: `Bearer ${CANARY}` } }],
    },
  },
  {
    match: { contains: 'keep', round: 2 },
    reply: { text: '', tool_calls: [{ name: 'fs.read', arguments: { path: FILE } }] },
  },
  { match: { contains: 'keep', tool_contains: CANARY }, reply: `It is https://user:${CANARY}@host/.` },
  { reply: 'done' },
];

const receiver = new OtlpReceiver();
let node: ProductNode;
let apiKey = '';
before(async () => {
  const tracing = { otlp_endpoint: await receiver.start() };
  const spec = { ...SPEC, observability: { logging: { level: 'debug' }, tracing } };
  node = await ProductNode.start({ rules: RULES, spec, env: { ...process.env, OF_THE_HOOK: CANARY } });
});
after(async () => {
  await node[Symbol.asyncDispose]();
  await receiver.stop();
});

const listed = (value: unknown): Readonly<Record<string, unknown>>[] => (Array.isArray(value) ? value : []);

/** All answers of the routes that read the ledger, about everything in it. */
async function readings(): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const read = async (path: string, headers = {}): Promise<Answer['body']> => {
    const { status, text, body } = await node.call('GET', path, { headers });
    assert.ok(status === 200 || status === 404 || status === 409, `${path}: ${status} ${text}`);
    texts.set(path + JSON.stringify(headers), text);
    return body;
  };
  const list = await read('/v1/traces?limit=200');
  await read(`/v1/traces?text=${CANARY}`);
  await read('/v1/dead-letters');
  const actors = new Set<string>();
  for (const { trace_id } of listed(list.traces)) {
    const trace = await read(`/v1/traces/${trace_id}`);
    await read(`/v1/traces/${trace_id}`, { accept: 'application/x-ndjson' });
    await read(`/v1/traces/${trace_id}/summary`);
    await read(`/v1/traces/${trace_id}/critical-path`);
    for (const { message_id, to } of listed(trace.deliveries)) {
      const [kind, , id] = String(to).split('/');
      await read(`/v1/messages/${message_id}`);
      await read(`/v1/messages/${message_id}/causes`);
      await read(`/v1/messages/${message_id}/effects`);
      await read(`/v1/actors/${kind}/${id}/state?at=${message_id}`);
      await read(`/v1/actors/${kind}/${id}/diff?to=${message_id}`);
      actors.add(`${kind}/${id}`);
    }
  }
  for (const actor of actors) {
    await read(`/v1/actors/${actor}`);
    await read(`/v1/actors/${actor}/history`);
    await read(`/v1/actors/${actor}/recording`);
    await read(`/v1/actors/${actor}/recording?next=d`);
    await read(`/v1/runs/${actor.split('/')[1]}/recording`);
  }
  return texts;
}

test('a secret in every place that takes one, in a model’s output and in a tool’s result, is in no trace, message, state, dead letter, recording, span, metric or log line', async () => {
  await node.succeed('PUT', '/v1/secrets/of-the-test', { value: CANARY });
  apiKey = String((await node.succeed('POST', '/v1/api-keys', { name: 'of the test' })).key);
  const agent_id = await node.deploy(
    agentYaml('secretive', { env: { API_KEY: CANARY, OTHER: `literal:${CANARY}`, NAMED: 'secret:of-the-test' } }),
  );
  const run = await node.succeed('POST', '/v1/executions', {
    agent_id,
    input: `use Bearer ${CANARY} or ${apiKey} at https://user:${CANARY}@host/`,
    context: { password: CANARY, nested: { api_key: CANARY } },
  });
  const flow = workflowText('secretive-flow', {
    gate: { kind: 'Human', prompt: 'go on?', transitions: [{ target: 'done' }] },
    done: DONE,
  });
  const yaml = { 'content-type': 'application/yaml' };
  assert.equal((await node.call('POST', '/v1/workflows', { body: flow, headers: yaml })).status, 200);
  const flown = await node.succeed('POST', '/v1/workflows/secretive-flow/run', {
    input: { token: CANARY },
    blackboard: { credentials: { secret: CANARY } },
  });
  const approval = await waitUntil('it to wait for a person', async () => {
    const { pending_requests } = (await node.call('GET', '/v1/human-approvals')).body;
    return listed(pending_requests).find((one) => one.execution_id === flown.execution_id);
  });
  await node.succeed('POST', `/v1/human-approvals/${approval.id}/approve`, { feedback: `Bearer ${CANARY}` });
  const keeper = await node.deploy(
    agentYaml('keeper', { tools: ['fs.write', 'fs.read'], execution: { mode: 'one-shot' } }),
  );
  const kept = await node.run(keeper, 'keep it');
  const runs = [run.execution_id, kept].map((id) => `/v1/executions/${id}`);
  for (const path of [...runs, `/v1/workflows/executions/${flown.execution_id}`]) {
    const { trace_id } = await waitUntil(`${path} to end`, async () => {
      const { body } = await node.call('GET', path);
      return body.status === 'completed' && body;
    });
    await waitUntil('its trace is in the ledger', async () => {
      const { status, body } = await node.call('GET', `/v1/traces/${trace_id}`);
      return status === 200 && body.status === 'completed';
    });
  }
  const said = await node.statusOf(kept);
  assert.ok(JSON.stringify(said).includes(CANARY), 'the model got it from its tool, and the caller gets its answer');
  const texts = await readings();
  await waitUntil('the spans of the tools', () => receiver.spans.some(({ name }) => name.includes('fs.read')));
  const metrics = await (await fetch(`${(await node.process.internal).url}/metrics`)).text();
  for (const [what, text] of [
    ['metrics', metrics],
    ['log', node.process.log],
    ['spans', Buffer.concat(receiver.bodies).toString('latin1')],
  ] as const)
    texts.set(what, text);
  assert.ok(texts.size > 30, `${texts.size} answers`);
  const found = [...texts].filter(([path, text]) => {
    return text.replaceAll(path, '').includes(CANARY) || text.includes(apiKey);
  });
  assert.deepEqual(
    found.map(([path]) => path),
    [],
  );
  const all = [...texts.values()].join();
  assert.ok(all.includes('[redacted]') && all.includes('secretive-flow'), 'the answers show text that is no secret');
});
