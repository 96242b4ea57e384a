import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { WRITES_LABEL, writerName } from '../../../usecases/intents.ts';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { AGENT_AUTHOR, IntentNode, writes } from './intent-node.ts';

const GOAL = 'Convert temperatures from Celsius to Fahrenheit';
const OTHER = 'Sort the words of a text by their length';

/** An agent that writes programs for goals of one kind, as the author deploys it. */
const writer = (goal: string) =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Agent',
    metadata: {
      name: writerName({ intent: goal, language: 'bash' }),
      version: '1.0.0',
      description: goal,
      labels: { [WRITES_LABEL]: 'bash' },
    },
    spec: { runtime: { isolation: 'process' }, task: { instruction: `You are the writer for: ${goal}` } },
  });

describe('an agent that was made for a goal is reused', NEEDS_PODMAN, () => {
  let podman: TestPodman;
  let setup: IntentNode;
  before(async () => {
    podman = await TestPodman.start();
    const rules = [
      {
        match: { contains: [AGENT_AUTHOR, GOAL], round: 1 },
        reply: { tool_calls: [{ name: 'svc.agent.create', arguments: { manifest_yaml: writer(GOAL) } }] },
      },
      {
        match: { contains: [AGENT_AUTHOR, GOAL] },
        reply: '{"agent_id": "told", "name": "told", "version": "1.0.0"}',
      },
      // For the other goal the author never deploys an agent.
      { match: { contains: [AGENT_AUTHOR, OTHER] }, reply: 'I cannot.' },
      { match: { contains: 'You are the writer for' }, reply: 'echo "72 F by the made one"' },
      writes(OTHER, 'echo sorted by the one that ships'),
    ];
    setup = await IntentNode.start(rules, { podman, execute: { generate: true } });
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
    await podman[Symbol.asyncDispose]();
  });

  test('is made at the first goal, and reused at the second and at one in other words', async () => {
    const first = await setup.reach(GOAL);
    assert.ok(first.status === 'completed', JSON.stringify(first));
    assert.deepEqual([first.final_result, first.reused_existing_agent], ['72 F by the made one\n', false]);
    for (const goal of [GOAL, 'converting a temperature of Celsius to Fahrenheit']) {
      const started = await setup.start(goal);
      const again = await setup.ended(started.pipeline_execution_id);
      assert.ok(again.status === 'completed', JSON.stringify(again));
      assert.deepEqual([again.final_result, again.reused_existing_agent], ['72 F by the made one\n', true], goal);
      const { state_outputs } = await setup.run(started.pipeline_execution_id);
      assert.equal('GENERATE_AGENT' in state_outputs, false);
    }
  });

  test('a goal of another kind reuses none; where none can be made the shipped agent writes the program', async () => {
    const started = await setup.start(OTHER);
    const ended = await setup.ended(started.pipeline_execution_id);
    assert.ok(ended.status === 'completed', JSON.stringify(ended));
    assert.deepEqual([ended.final_result, ended.reused_existing_agent], ['sorted by the one that ships\n', false]);
    const { state_outputs } = await setup.run(started.pipeline_execution_id);
    assert.equal(state_outputs.GENERATE_AGENT?.status, 'failed');
  });
});
