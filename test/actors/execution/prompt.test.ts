import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../runtime/json.ts';
import { DrivenExecution, manifestOf, templateOf } from './driven-execution.ts';

const DIGITS: JsonObject = { validation: [{ type: 'exit_code' }, { type: 'regex', pattern: '^[0-9]+$' }] };

function promptOf(spec: Parameters<typeof manifestOf>[0], extra: Parameters<DrivenExecution['start']>[1] = {}): string {
  const driven = new DrivenExecution();
  const { reply } = driven.start(manifestOf(spec), extra);
  assert.equal(reply?.ok, true, JSON.stringify(reply));
  return driven.prompt;
}

test('the default prompt is the instruction followed by the input, each when present', () => {
  assert.equal(promptOf({ task: { instruction: 'Do.' } }), 'Do.\n\nthe text');
  assert.equal(promptOf({ task: {} }), 'the text');
  assert.equal(promptOf({ task: { instruction: 'Do.' } }, { input: '' }), 'Do.');
});

test('text context stands between instruction and input', () => {
  const context = [{ type: 'text', content: 'Be brief.', description: 'House style' }];
  assert.equal(promptOf({ task: { instruction: 'Do.' }, context }), 'Do.\n\nHouse style:\nBe brief.\n\nthe text');
});

test('without an input the manifest input_data is the input', () => {
  assert.equal(promptOf({ task: { input_data: { a: 1 } } }, { input: '' }), '{"a":1}');
});

test('a template sees every variable and nothing is escaped for HTML', () => {
  const task = {
    instruction: 'I',
    agentskills: ['core:search'],
    prompt_template:
      '{{instruction}}|{{input}}|{{iteration_number}}|{{previous_error}}|{{#each agentskills}}{{this}}{{/each}}|{{context}}',
  };
  const prompt = promptOf({ task, context: [{ type: 'text', content: 'C & D' }] }, { input: '<b>"x"</b>' });
  assert.equal(prompt, 'I|<b>"x"</b>|1||core:search|C & D');
});

test('the caller adds variables but cannot replace the reserved ones', () => {
  const task = { instruction: 'mine', prompt_template: '{{instruction}} {{lang}} {{deep.key}} {{extra}}' };
  const context = { lang: 'de', deep: { key: 'v' }, context_overrides: { extra: 'e', instruction: 'theirs' } };
  assert.equal(promptOf({ task }, { context }), 'mine de v e');
});

test('an unknown variable is seen as missing, also where a section would hide it', () => {
  const task = { prompt_template: '{{nope}}{{#if nope}}yes{{else}}no{{/if}}{{#nope}}never{{/nope}}' };
  assert.equal(promptOf({ task }), '[missing: nope]no');
});

test('a template reaches no prototype', () => {
  const prompt = promptOf(
    { task: { prompt_template: 'x{{input.constructor.name}}{{#with (lookup deep "constructor")}}{{name}}{{/with}}' } },
    { context: { deep: {} } },
  );
  assert.equal(prompt, 'x');
});

test('loops over loops are stopped, not run', () => {
  const list = Array.from({ length: 100 }, (_, n) => n);
  const prompt_template = '{{#each l}}{{#each ../l}}{{#each ../../l}}x{{/each}}{{/each}}{{/each}}';
  const driven = new DrivenExecution();
  const { reply } = driven.start(manifestOf({ task: { prompt_template } }), { context: { l: list } });
  assert.ok(reply?.ok === false);
  assert.match(reply.message, /more than 10000 loop bodies/);
});

test('a template that multiplies the input is stopped at the length bound', () => {
  const driven = new DrivenExecution();
  const { reply } = driven.start(templateOf('{{input}}'.repeat(20_000)), { input: 'x'.repeat(500_000) });
  assert.equal(reply?.ok === false && reply.code, 'payload_too_large');
});

test('after failures the prompt lists every attempt with all verdicts, newest first', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf({ task: { instruction: 'Count.' }, execution: DIGITS }));
  driven.answer('one');
  driven.answer('two');
  const { prompt } = driven;
  assert.match(prompt, /^Count\.\n\nthe text\n\n## Earlier attempts\n/);
  const section = [
    '### Attempt 2',
    'validation_failed: regex (stdout): stdout does not match ^[0-9]+$',
    '- exit_code: passed',
    '- regex (stdout): failed: stdout does not match ^[0-9]+$',
    'Output:',
    'two',
  ].join('\n');
  assert.ok(prompt.includes(section), prompt);
  assert.ok(prompt.indexOf('### Attempt 2') < prompt.indexOf('### Attempt 1'));
});

test('a template that uses previous_error gets it, and no separate section', () => {
  const driven = new DrivenExecution();
  const task = { prompt_template: '{{input}}{{#if previous_error}}\nFix: {{previous_error}}{{/if}}' };
  driven.start(manifestOf({ task, execution: DIGITS }));
  driven.answer('one');
  assert.match(driven.prompt, /^the text\nFix: validation_failed: /);
  assert.doesNotMatch(driven.prompt, /Earlier attempts/);
});

test('huge outputs make neither prompt nor state grow without bound', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf({ execution: { ...DIGITS, max_iterations: 20 } }));
  for (let n = 0; n < 19; n += 1) driven.answer(`${n} ${'word '.repeat(50_000)}`);
  assert.ok(driven.prompt.length < 60_000, `prompt of ${driven.prompt.length} characters`);
  assert.match(driven.prompt, /\[cut: \d+ more characters\]/);
  const size = JSON.stringify(driven.state).length;
  assert.ok(size < 200_000, `state of ${size} characters`);
  driven.answer('x');
  assert.ok(JSON.stringify(driven.state).length < 200_000);
});
