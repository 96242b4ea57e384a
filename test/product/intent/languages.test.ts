import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { languageImages, NEEDS_LANGUAGES } from './images.ts';
import { IntentNode } from './intent-node.ts';

const PYTHON = `import json, os
inputs = json.loads(os.environ["SVC_INPUTS"])
print(sum(inputs.get("numbers", [6, 7])))`;
const JAVASCRIPT = `import { env } from 'node:process';
const { numbers } = JSON.parse(env.SVC_INPUTS);
console.log(numbers.reduce((sum, one) => sum + one, 0));`;

const said = (contains: readonly string[], reply: string) => ({ match: { contains }, reply });

test('programs in Python and JavaScript are checked and run by their own languages', {
  ...NEEDS_PODMAN,
  ...NEEDS_LANGUAGES,
}, async () => {
  await using podman = await TestPodman.start();
  const images = await languageImages(podman);
  const rules = [
    said(['You write one Python program', 'This was tried'], PYTHON),
    said(['You write one Python program', 'mend'], 'def (:'),
    said(['You write one Python program'], PYTHON),
    said(['You write one JavaScript program', 'This was tried'], JAVASCRIPT),
    said(['You write one JavaScript program', 'mend'], 'const = ;'),
    said(['You write one JavaScript program'], JAVASCRIPT),
  ];
  await using setup = await IntentNode.start(rules, { podman, execute: { images } });
  for (const language of ['python', 'javascript'])
    for (const goal of ['add', 'mend and add']) {
      const ended = await setup.reach(goal, { language, inputs: { numbers: [40, 2] } });
      assert.ok(ended.status === 'completed', `${language}, ${goal}: ${JSON.stringify(ended)}`);
      assert.equal(ended.final_result, '42\n');
    }
  // svc.execute: only a goal.
  const { body } = await setup.node.json('POST', '/v1/execute', { prompt: 'add' });
  const ended = await setup.ended(String(body.pipeline_execution_id));
  assert.equal(ended.status === 'completed' && ended.final_result, '13\n');
});
