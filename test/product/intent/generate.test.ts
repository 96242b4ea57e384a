import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { z } from 'zod';
import { AGENT_AUTHOR_ID, WORKFLOW_AUTHOR_ID } from '../../../catalog/built-in/api.ts';
import { svc } from '../../cli/svc-run.ts';
import type { Rule } from '../../support/node-config.ts';
import { AGENT_AUTHOR, IntentNode, WORKFLOW_AUTHOR } from './intent-node.ts';

const Task = z.looseObject({
  agent_id: z.string(),
  status: z.string(),
  iteration_count: z.number(),
  last_output: z.string().nullable(),
  last_error: z.string().nullable(),
  tool_calls_executed: z.number().default(0),
});

const agent = (name: string, spec: object) =>
  stringify({ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata: { name, version: '1.0.0' }, spec });
const workflow = (name: string, states: object) =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0' },
    spec: { initial_state: 'A', states },
  });
const end = { kind: 'System', command: 'finalize', env: { ok: 'yes' }, transitions: [] };

interface Said {
  readonly tool: string;
  /** Its manifests, one call each. */
  readonly manifests: readonly string[];
  /** Its last answer. */
  readonly answer: object;
}

/** An author that deploys these manifests one after another, whatever the answers, and then reports that it is done. */
const author = (who: string, goal: string, { tool, manifests, answer }: Said): Rule[] => [
  ...manifests.map((manifest_yaml, at) => ({
    match: { contains: [who, goal], round: at + 1 },
    reply: { text: 'I deploy it.', tool_calls: [{ name: tool, arguments: { manifest_yaml } }] },
  })),
  { match: { contains: [who, goal] }, reply: JSON.stringify(answer) },
];

const RULES: readonly Rule[] = [
  ...author(AGENT_AUTHOR, 'a friendly greeter', {
    tool: 'svc.agent.create',
    manifests: [agent('greeter', { tasks: {} }), agent('greeter', { task: { instruction: 'Greet.' } })],
    answer: { agent_id: 'told', name: 'greeter', version: '1.0.0', summary: 'It greets.' },
  }),
  ...['one by a tool', 'one by hand'].flatMap((goal) => {
    const name = goal.replaceAll(' ', '-');
    return author(AGENT_AUTHOR, goal, {
      tool: 'svc.agent.create',
      manifests: [agent(name, { task: { instruction: 'Greet.' } })],
      answer: { agent_id: 'told', name, version: '1.0.0' },
    });
  }),
  // Reports that it is done without a deploy; the second iteration deploys.
  {
    match: { contains: [AGENT_AUTHOR, 'a liar'], iteration: 1 },
    reply: '{"agent_id": "made-up", "name": "liar", "version": "1.0.0"}',
  },
  ...author(AGENT_AUTHOR, 'a liar', {
    tool: 'svc.agent.create',
    manifests: [],
    answer: { agent_id: 'made-up', name: 'liar', version: '1.0.0' },
  }),
  ...author(WORKFLOW_AUTHOR, 'a short workflow', {
    tool: 'svc.workflow.create',
    manifests: [
      workflow('short', { A: { ...end, kind: 'Sytem' } }),
      workflow('short', { A: { kind: 'System', command: 'true', transitions: [{ target: 'B' }] } }),
      workflow('short', { A: end }),
    ],
    answer: { workflow_id: 'told', name: 'short', version: '1.0.0' },
  }),
  {
    match: { contains: 'You judge the quality of work' },
    reply: '{"score": 0.95, "confidence": 0.9, "reasoning": "It does what it says.", "verdict": "pass"}',
  },
];

describe('generating from a description in plain text', () => {
  let setup: IntentNode;
  before(async () => {
    setup = await IntentNode.start(RULES);
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
  });

  test('a broken first manifest of an agent is refused with its error, repaired and deployed', async () => {
    const task = Task.parse(await setup.generated('agents', 'a friendly greeter'));
    assert.deepEqual([task.status, task.agent_id, task.iteration_count], ['completed', AGENT_AUTHOR_ID, 1]);
    assert.equal(task.tool_calls_executed, 2);
    const greeter = await setup.node.call('GET', '/v1/agents/lookup/greeter');
    assert.equal(greeter.status, 200);
  });

  test('an authoring agent that only claims to have deployed fails', async () => {
    const task = Task.parse(await setup.generated('agents', 'a liar'));
    assert.equal(task.status, 'failed');
    assert.match(task.last_error ?? '', /no call of svc\.agent\.create has succeeded/);
    assert.equal((await setup.node.call('GET', '/v1/agents/lookup/liar')).status, 404);
  });

  test('a broken first manifest of a workflow is repaired, judged and deployed', async () => {
    const task = Task.parse(await setup.generated('workflows', 'a short workflow'));
    assert.deepEqual([task.status, task.agent_id], ['completed', WORKFLOW_AUTHOR_ID], task.last_error ?? '');
    assert.equal((await setup.node.call('GET', '/v1/workflows/short')).status, 200);
  });

  test('svc.agent.generate over /mcp, waited for with svc.agent.wait', async () => {
    const { execution_id, status } = await setup.tool('svc.agent.generate', { input: 'one by a tool' });
    assert.equal(status, 'started');
    const waited = Task.parse(await setup.tool('svc.agent.wait', { execution_id, timeout_seconds: 30 }));
    assert.deepEqual([waited.status, waited.agent_id], ['completed', AGENT_AUTHOR_ID]);
    assert.equal((await setup.node.call('GET', '/v1/agents/lookup/one-by-a-tool')).status, 200);
  });

  test('svc agent generate --wait prints what was deployed', async () => {
    const { code, stdout, stderr } = await svc(['--url', setup.node.url, 'agent', 'generate', 'one by hand', '--wait']);
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).name, 'one-by-hand');
    assert.equal((await setup.node.call('GET', '/v1/agents/lookup/one-by-hand')).status, 200);
  });

  test('the same key starts one authoring agent, however often it is sent', async () => {
    const headers = { 'idempotency-key': 'once' };
    const [first, second] = await Promise.all([
      setup.generate('agents', 'a liar', headers),
      setup.generate('agents', 'a liar', headers),
    ]);
    assert.equal(first, second);
  });

  test('an empty description is refused, and the error names the field', async () => {
    for (const kind of ['agents', 'workflows']) {
      const answer = await setup.node.json('POST', `/v1/${kind}/generate`, { input: '  ' });
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, /input/);
    }
  });
});
