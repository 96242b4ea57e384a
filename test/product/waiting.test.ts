import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Metadata } from '@grpc/grpc-js';
import { svc } from '../cli/svc-run.ts';
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
    await waitUntil('the first has run', async () => (await node.statusOf(id)).status === 'completed', 20_000);
    const { code, events } = await ending;
    assert.equal(code, 'OK');
    assert.equal(events.at(-1)?.$case, 'execution_completed');
    assert.equal((await node.statusOf(id)).waiting_for, undefined);
    client.close();
  });
});
