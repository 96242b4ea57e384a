import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { z } from 'zod';
import { ModelServer } from '../../support/model-server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml, ProductNode } from '../product-node.ts';
import { assertExplained, type Cause, type Planted, plantAlone, plantNested, workflowYaml } from './planted-runs.ts';

const hanging = { task: { prompt_template: 'x {{input}}' }, runtime: { model: 'silent' } };

const TARGET: Cause = {
  name: 'a-model-with-its-most-calls',
  agent: hanging,
  last: { kind: 'target', reason: /silent.*already has the maximum of calls from this node/ },
  sentence:
    /for its model, attempt 1 on node \S+: Provider "silent", .* already has the maximum of calls from this node; this one waits for its turn\.$/,
};

/** A command after an approval: the test decides when it begins. */
const PLACE: Cause = {
  name: 'a-place',
  state: { kind: 'Human', prompt: 'Begin?', transitions: [{ condition: 'always', target: 'RUN' }] },
  last: { kind: 'place', id: 'default' },
  sentence:
    /waits in state RUN for its command, which no node has begun: the nodes already run the maximum of effects\.$/,
};

const Waits = z.object({ waiting_for: z.looseObject({ reason: z.string() }) });

describe('why a run waits: a node that runs two effects at a time', () => {
  let node: ProductNode;
  const models = new ModelServer();

  before(async () => {
    await models.start();
    models.script({ silent: true });
    const silent = {
      ...{ name: 'silent', type: 'openai-compatible', endpoint: `${models.url}/v1`, api_key: 'literal:k' },
      models: [{ alias: 'silent', model: 'silent' }],
    };
    node = await ProductNode.start({
      ...{ rules: [{ reply: 'done' }], providers: [silent] },
      spec: {
        llm_selection: { max_retries: 0, llm_overall_timeout_secs: 600 },
        kernel: { effect_concurrency: 2 },
      },
    });
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    await models.stop();
  });

  test('a model at its limit of calls is the last cause', async () => {
    for (const name of ['first', 'second']) {
      await node.run(await node.deploy(agentYaml(name, hanging)), 'x');
    }
    await waitUntil('both calls to be at the model', () => models.calls.length === 2);
    await assertExplained(node, await plantAlone(node, TARGET), TARGET);
    await assertExplained(node, await plantNested(node, TARGET), TARGET);
  });

  test('a command for which no node has a place is the last cause', async () => {
    const gated = stringifiedGate(PLACE.name);
    const alone: Planted = { kind: 'workflow', id: await node.runWorkflow(gated) };
    const nested = await plantNested(node, PLACE);
    const approvals = await waitUntil('both approvals', async () => {
      const { body } = await node.call('GET', '/v1/human-approvals');
      const { pending_requests: pending } = z
        .looseObject({ pending_requests: z.array(z.object({ id: z.string() })) })
        .parse(body);
      return pending.length === 2 && pending.map(({ id }) => id);
    });
    const fill = workflowYaml('fills', { kind: 'System', command: 'sleep 600' });
    for (const id of [await node.runWorkflow(fill), await node.runWorkflow(fill.replace('1.0.0', '1.0.1'))]) {
      await waitUntil('the place to be taken', async () => {
        const { body } = await node.call('GET', `/v1/workflows/executions/${id}`);
        return /attempt 1 on node/.test(Waits.safeParse(body).data?.waiting_for.reason ?? '');
      });
    }
    for (const id of approvals) {
      const answer = await node.json('POST', `/v1/human-approvals/${id}/approve`, {});
      assert.equal(answer.status, 200, answer.text);
    }
    // A tool call needs a place too.
    await assertExplained(node, alone, PLACE, ['cli']);
    await assertExplained(node, nested, PLACE, ['cli']);
  });
});

const stringifiedGate = (name: string): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0' },
    spec: {
      initial_state: 'STEP',
      states: {
        STEP: { kind: 'Human', prompt: 'Begin?', transitions: [{ condition: 'always', target: 'RUN' }] },
        RUN: {
          ...{ kind: 'System', command: 'sleep 600', timeout: '1h' },
          transitions: [{ condition: 'always', target: 'END' }],
        },
        END: { kind: 'System', command: 'finalize', transitions: [] },
      },
    },
  });
