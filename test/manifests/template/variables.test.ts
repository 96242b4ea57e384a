import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderTemplate } from '../../../manifests/template/rendering.ts';

const RESULT = { exit_code: 0, stdout: 'ok', stderr: '', duration_ms: 12 };

const SCOPE = {
  intent: 'ship it',
  input: { name: 'Ada', tags: ['a', 'b'], nothing: null },
  workflow: {
    context: { region: 'eu' },
    storage: { workspace: 'vol-1', shared_volumes: { cache: 'vol-2' } },
  },
  BUILD: { status: 'success', score: 0.875, output: RESULT },
  'my-state': { output: { stdout: 'dash' } },
  'my state': { output: 'space' },
  CHECKS: { output: { lint: RESULT, test: { ...RESULT, exit_code: 1 } } },
  PANEL: {
    consensus: { score: 0.75, confidence: 0.5 },
    agents: [{ output: { score: 0.9 } }, { output: 'second' }],
  },
  CHILD: { result: { total: 3 }, child_execution_id: 'c-1' },
  blackboard: { count: 0, done: false },
  state: { feedback: 'try <again>' },
  human: { feedback: 'fine & "good"' },
  execution: { id: 'e-1' },
};

/** Template variables (W17), a row each. */
const ROWS: readonly (readonly [template: string, text: string])[] = [
  ['{{intent}}', 'ship it'],
  ['{{input.name}}', 'Ada'],
  ['{{workflow.context.region}}', 'eu'],
  ['{{workflow.storage.workspace}}', 'vol-1'],
  ['{{workflow.storage.shared_volumes.cache}}', 'vol-2'],
  ['{{BUILD.output}}', JSON.stringify(RESULT)],
  ['{{BUILD.output.stdout}}', 'ok'],
  ['{{BUILD.output.stderr}}', ''],
  ['{{BUILD.output.exit_code}}', '0'],
  ['{{BUILD.output.duration_ms}}', '12'],
  ['{{CHECKS.output.lint.stdout}}', 'ok'],
  ['{{CHECKS.output.test.exit_code}}', '1'],
  ['{{BUILD.status}}', 'success'],
  ['{{BUILD.score}}', '0.875'],
  ['{{PANEL.consensus.score}}', '0.75'],
  ['{{PANEL.consensus.confidence}}', '0.5'],
  ['{{PANEL.agents.0.output}}', '{"score":0.9}'],
  ['{{PANEL.agents.1.output}}', 'second'],
  ['{{PANEL.agents.0.output.score}}', '0.9'],
  ['{{PANEL.agents.[0].output.score}}', '0.9'],
  ['{{CHILD.result}}', '{"total":3}'],
  ['{{CHILD.result.total}}', '3'],
  ['{{CHILD.child_execution_id}}', 'c-1'],
  ['{{blackboard.count}}', '0'],
  ['{{blackboard.done}}', 'false'],
  ['{{state.feedback}}', 'try <again>'],
  ['{{human.feedback}}', 'fine & "good"'],
  ['{{execution.id}}', 'e-1'],
  ['{{my-state.output.stdout}}', 'dash'],
  ['{{[my state].output}}', 'space'],
  ['{{input.tags}}', '["a","b"]'],
  ['{{input.tags.1}}', 'b'],
  ['{{input.tags.1 }}|{{~input.tags.0~}} |', 'b|a|'],
  ['{{input.tags.length}}', '2'],
  ['{{input.nothing}}', ''],
  ['{{{human.feedback}}}', 'fine & "good"'],
];

for (const [template, text] of ROWS) {
  test(`${template} renders ${text === '' ? 'nothing' : text}`, () => {
    assert.equal(renderTemplate(template, SCOPE, { state: 'NOW', maxChars: 1_000 }), text);
  });
}

const MISSING: readonly (readonly [template: string, text: string])[] = [
  ['{{BUILD.output.nothing}}', '[missing: BUILD.output.nothing in NOW]'],
  ['{{input.user.name}}', '[missing: input.user.name in NOW]'],
  ['{{blackboard.x}}', '[missing: blackboard.x in NOW]'],
  ['{{NOPE.output}}', '[missing: NOPE.output in NOW]'],
  ['{{nope}}', '[missing: nope in NOW]'],
  ['{{[my state].nope}}', '[missing: [my state].nope in NOW]'],
  ['{{input.tags.2}}', '[missing: input.tags.2 in NOW]'],
  ['{{input.name.first}}', '[missing: input.name.first in NOW]'],
  ['{{input.nothing.more}}', '[missing: input.nothing.more in NOW]'],
  ['{{upper (trim input.user)}}', '[missing: input.user in NOW]'],
  ['{{lookup input "user"}}', '[missing: input.user in NOW]'],
  [
    '{{#each input.tags}}{{this.x}}{{../nope}}{{@root.gone}};{{/each}}',
    '[missing: this.x in NOW][missing: ../nope in NOW][missing: @root.gone in NOW];'.repeat(2),
  ],
  ['{{#each input.users}}x{{/each}}', '[missing: input.users in NOW]'],
  ['{{#each input.users}}x{{else}}none{{/each}}', 'none'],
  ['{{#with input.user}}x{{/with}}', '[missing: input.user in NOW]'],
  ['{{#if input.user.name}}x{{else}}no{{/if}}', 'no'],
  ['{{#unless input.user}}no{{/unless}}', 'no'],
  ["{{default input.user.name 'x'}}", 'x'],
  ["{{default input.user (default nope 'deep')}}", 'deep'],
  ['{{default input.user nope.else}}', '[missing: nope.else in NOW]'],
];

for (const [template, text] of MISSING) {
  test(`a missing key is shown and does not end the run: ${template}`, () => {
    assert.equal(renderTemplate(template, SCOPE, { state: 'NOW', maxChars: 1_000 }), text);
  });
}
