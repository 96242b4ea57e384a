import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { WRITES_LABEL, writerName } from '../../../usecases/intents.ts';
import { type ModelTurn, startModelServer } from '../../support/model-server.ts';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { someOf } from '../../support/size.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AGENT_AUTHOR, FORMATTER, IntentNode, WRITER } from './intent-node.ts';

const manifest = (spec: object) =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Agent',
    metadata: { name: 'translator', version: '1.0.0', description: 'Translates' },
    spec,
  });
const BROKEN = manifest({ task: { instruction: 'Translate.' }, isolation: 'process' });
const SOUND = manifest({ runtime: { isolation: 'process' }, task: { instruction: 'Translate.' } });

const creates = (manifest_yaml: string, name: string): ModelTurn => ({
  chunks: ['I deploy it.'],
  toolCalls: [{ id: 'call_1', name, arguments: JSON.stringify({ manifest_yaml }) }],
});

/** A model that reads the conversation as it came over the wire; `tool` is the name of its tool there. */
function answer(said: string, tool: string): ModelTurn {
  if (!said.includes(AGENT_AUTHOR)) return { chunks: ['an answer of another agent'] };
  if (/\bdeployed\\*":\s*true/.test(said))
    return { chunks: ['{"agent_id": "told", ', '"name": "translator", "version": "1.0.0"}'] };
  // The answer of the tool names the error by its place in the manifest.
  return creates(/invalid_manifest.*isolation/.test(said) ? SOUND : BROKEN, tool);
}

const PROVIDERS = [
  { type: 'openai-compatible', path: '/v1' },
  { type: 'anthropic', path: '/v1' },
] as const;

/** Settings of a node for a model server over one wire format. */
const providerOf = (type: string, endpoint: string) => ({
  ...{ name: 'wire', type, endpoint, api_key: 'literal:k' },
  models: [{ alias: 'default', model: 'some-model' }],
});

/** Name of the tool over this wire format. */
const nameOfCreate = (body: Readonly<Record<string, unknown>>): string =>
  /"name":"(svc[._-]agent[._-]create)"/.exec(JSON.stringify(body.tools))?.[1] ?? 'svc.agent.create';

for (const { type, path } of PROVIDERS) {
  test(`over the wire format of ${type} a broken first manifest is refused by name, repaired and deployed`, async () => {
    const models = await startModelServer();
    models.answer(({ body }) => answer(JSON.stringify(body.messages), nameOfCreate(body)));
    try {
      const provider = providerOf(type, `${models.url}${path}`);
      await using setup = await IntentNode.start([], { options: { spec: { llm_providers: [provider] } } });
      const task = await setup.generated('agents', 'something that translates');
      assert.equal(task.status, 'completed', JSON.stringify(task));
      const found = await setup.node.call('GET', '/v1/agents/lookup/translator');
      assert.equal(found.status, 200);
      const asked = models.calls.map(({ body }) => JSON.stringify(body));
      assert.equal(asked.length, 3);
      assert.match(asked[1] ?? '', /invalid_manifest.*isolation/s);
      assert.ok(asked.every((body) => !body.includes(FORMATTER)));
    } finally {
      await models.stop();
    }
  });
}

const GOAL = 'add the numbers of a list';
const WRITER_MADE = 'You are the one who adds.';
const made = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Agent',
  metadata: {
    ...{ name: writerName({ intent: GOAL, language: 'bash' }), version: '1.0.0', description: GOAL },
    labels: { [WRITES_LABEL]: 'bash' },
  },
  spec: { runtime: { isolation: 'process' }, task: { instruction: WRITER_MADE } },
});

/** A model that answers for every agent of the pipeline, which it recognises by the prompt. */
function allAgents(body: Readonly<Record<string, unknown>>): ModelTurn {
  const said = JSON.stringify(body);
  if (said.includes(AGENT_AUTHOR)) {
    const isDone = /\bdeployed\\*":\s*true/.test(said);
    if (!isDone) return creates(made, nameOfCreate(body));
    return { chunks: ['{"agent_id": "told", "name": "n", "version": "1.0.0"}'] };
  }
  if (said.includes(FORMATTER)) return { chunks: [said.includes('40+2') ? 'It is ' : 'Not ', '42.'] };
  return { chunks: said.includes(WRITER_MADE) ? ['echo "$SVC_INPUTS" ', '| tr -dc 0-9+; echo'] : ['exit 9'] };
}

// Each takes a node and containers; the differences between wire formats are tested above.
for (const { type, path } of someOf(PROVIDERS, 2)) {
  test(
    `over the wire format of ${type} a goal is reached: an agent made, its program run in a container, its output returned`,
    NEEDS_PODMAN,
    async () => {
      const models = await startModelServer();
      models.answer(({ body }) => allAgents(body));
      try {
        await using podman = await TestPodman.start();
        const spec = { llm_providers: [providerOf(type, `${models.url}${path}`)] };
        await using setup = await IntentNode.start([], { podman, execute: { generate: true }, options: { spec } });
        for (const reused of [false, true]) {
          const ended = await setup.reach(GOAL, { inputs: { sum: '40+2' } });
          assert.ok(ended.status === 'completed', JSON.stringify(ended));
          assert.deepEqual([ended.final_result, ended.reused_existing_agent], ['It is 42.', reused]);
        }
      } finally {
        await models.stop();
      }
    },
  );
}

test(
  'a model that never answers: a cancel ends its call; without one the pipeline fails in the end and names the reason',
  NEEDS_PODMAN,
  async () => {
    const models = await startModelServer();
    models.script({ silent: true });
    try {
      const spec = {
        llm_providers: [providerOf('openai-compatible', `${models.url}/v1`)],
        llm_selection: { llm_overall_timeout_secs: 1, max_retries: 0 },
      };
      await using podman = await TestPodman.start();
      await using setup = await IntentNode.start([], { podman, options: { spec } });
      const { pipeline_execution_id: id } = await setup.start('anything');
      await waitUntil('the model is called', async () => models.calls.length > 0);
      const cancelled = await setup.node.json('POST', `/v1/workflows/executions/${id}/cancel`, {});
      assert.equal(cancelled.status, 200, cancelled.text);
      await waitUntil('the call is hung up', async () => models.calls.every(({ aborted }) => aborted));
      assert.match(JSON.stringify(await setup.status(id)), /cancelled/);
      const ended = await setup.reach('anything');
      assert.ok(ended.status === 'failed', JSON.stringify(ended));
      assert.equal(ended.failed_at_state, 'WRITE_CODE');
      assert.match(ended.reason, /^max_iterations_exceeded: state WRITE_CODE: model_unavailable: .*no answer for 1 s/);
      assert.ok(models.calls.every(({ body }) => JSON.stringify(body).includes(WRITER)));
    } finally {
      await models.stop();
    }
  },
);
