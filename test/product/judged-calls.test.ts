import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';
import { IndependentAgent } from './seal/independent-agent.ts';
import { restClient } from './seal/transports.ts';

const call = { name: 'fs.write', arguments: { path: 'a.txt', content: 'x' } };
const RULES = [
  { match: { contains: 'verdict' }, reply: '{"score": 0, "confidence": 1, "reasoning": "never write anything"}' },
  { match: { contains: 'endless' }, reply: { text: 'at last', delay_ms: 250_000 } },
  { match: { round: 1 }, reply: { tool_calls: [call] } },
  { match: { tool_contains: 'JudgeRejected' }, reply: 'was not let write' },
  { reply: 'wrote' },
];

describe('an agent whose judge rejects every call', () => {
  let node: ProductNode;
  let writer: string;
  before(async () => {
    node = await ProductNode.start({ rules: RULES });
    await node.deploy(agentYaml('critic', { task: { prompt_template: 'verdict {{input}}' } }));
    const tool_validation = [{ type: 'semantic', judge_agent: 'critic' }];
    writer = await node.deploy(
      agentYaml('writer', { tools: ['fs.write'], execution: { mode: 'one-shot', tool_validation } }),
    );
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
  });

  test('may not write in its inner loop, and gets the refusal', async () => {
    const id = await node.run(writer, 'write something');
    const status = await waitUntil('it has ended', async () => {
      const now = await node.statusOf(id);
      return now.status === 'running' || now.status === 'pending' ? null : now;
    });
    assert.deepEqual([status.status, status.last_output], ['completed', 'was not let write']);
  });

  test('writes by a signed call: an external call is never sent to a judge', async () => {
    const execution_id = await node.run(writer, 'endless');
    await waitUntil('it runs', async () => (await node.statusOf(execution_id)).status === 'running');
    const client = restClient(node.url);
    const agent = new IndependentAgent({ agent_id: writer, execution_id, container_id: execution_id });
    agent.token = (await client.attest(agent)).token;
    const written = await client.invoke(agent.call(1, call.name, call.arguments));
    assert.deepEqual([written.status, written.result?.isError], [200, false], written.text);
  });
});
