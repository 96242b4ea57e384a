import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { z } from 'zod';
import { waitUntil } from '../support/wait-until.ts';
import { ProductNode } from './product-node.ts';

const WORKFLOW = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Workflow',
  metadata: { name: 'asks', version: '1.0.0' },
  spec: {
    initial_state: 'ASK',
    states: {
      ASK: { kind: 'Human', prompt: 'Go on?', transitions: [{ target: 'END' }] },
      END: { kind: 'System', command: 'finalize', env: { said: '{{human.feedback}}' }, transitions: [] },
    },
  },
});

const Trace = z.object({
  deliveries: z.array(z.object({ message_id: z.string(), cause_id: z.string().nullable(), type: z.string() })),
});

test('a run that waited for a person is one trace to its end, in which the answer follows the request', async () => {
  await using node = await ProductNode.start();
  const headers = { 'content-type': 'application/yaml' };
  assert.equal((await node.call('POST', '/v1/workflows', { body: WORKFLOW, headers })).status, 200);
  const { body: started } = await node.json('POST', '/v1/workflows/asks/run', {});
  const run = `/v1/workflows/executions/${started.execution_id}`;
  const approval = await waitUntil('the approval is open', async () => {
    const { body } = await node.call('GET', '/v1/human-approvals');
    return z.object({ pending_requests: z.array(z.object({ id: z.string() })) }).parse(body).pending_requests[0];
  });
  const path = `/v1/human-approvals/${approval.id}/approve`;
  assert.equal((await node.json('POST', path, { feedback: 'yes' })).status, 200);
  const { trace_id } = await waitUntil('the run ends', async () => {
    const { body } = await node.call('GET', run);
    return body.status === 'completed' && body;
  });
  const deliveries = await waitUntil('the trace has the end of the run', async () => {
    const { body } = await node.call('GET', `/v1/traces/${trace_id}`);
    const found = Trace.safeParse(body);
    if (!found.success) return false;
    const types = found.data.deliveries.map(({ type }) => type);
    const answered = types.indexOf('Answer');
    return answered >= 0 && answered < types.length - 1 && found.data.deliveries;
  });
  const ids = new Set(deliveries.map(({ message_id }) => message_id));
  const causes = deliveries.map(({ cause_id }) => cause_id);
  assert.equal(causes.filter((cause) => cause === null).length, 1);
  assert.deepEqual(
    causes.filter((cause) => cause !== null && !ids.has(cause)),
    [],
  );
  const answer = deliveries.find(({ type }) => type === 'Answer');
  const question = deliveries.find(({ message_id }) => message_id === answer?.cause_id);
  assert.equal(question?.type, 'Ask');
});
