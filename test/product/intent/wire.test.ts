import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { type ModelTurn, startModelServer } from '../../support/model-server.ts';
import { AGENT_AUTHOR, FORMATTER, IntentScene } from './scene.ts';

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

/** A model that reads the conversation as it came over the wire; `tool` is what its tool is called there. */
function answer(said: string, tool: string): ModelTurn {
  if (!said.includes(AGENT_AUTHOR)) return { chunks: ['nobody asked for this'] };
  if (/\bdeployed\\*":\s*true/.test(said))
    return { chunks: ['{"agent_id": "told", ', '"name": "translator", "version": "1.0.0"}'] };
  // What was wrong is in the answer of the tool, by its place in the manifest.
  return creates(/invalid_manifest.*isolation/.test(said) ? SOUND : BROKEN, tool);
}

const PROVIDERS = [
  { type: 'openai-compatible', path: '/v1' },
  { type: 'anthropic', path: '/v1' },
] as const;

for (const { type, path } of PROVIDERS) {
  test(`over the wire of ${type} a broken first manifest is refused by name, repaired and deployed`, async () => {
    const models = await startModelServer();
    models.answer(({ body }) => {
      const tools: unknown = body.tools;
      const offered = /"name":"(svc[._-]agent[._-]create)"/.exec(JSON.stringify(tools))?.[1] ?? 'svc.agent.create';
      return answer(JSON.stringify(body.messages), offered);
    });
    try {
      const provider = {
        ...{ name: 'wire', type, endpoint: `${models.url}${path}`, api_key: 'literal:k' },
        models: [{ alias: 'default', model: 'some-model' }],
      };
      await using scene = await IntentScene.start([], { options: { spec: { llm_providers: [provider] } } });
      const task = await scene.generated('agents', 'something that translates');
      assert.equal(task.status, 'completed', JSON.stringify(task));
      const found = await scene.node.call('GET', '/v1/agents/lookup/translator');
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
