import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellingText } from '../../../catalog/search/telling-text.ts';
import { wordsOf } from '../../../catalog/search/words.ts';

const rows: readonly (readonly [style: string, yaml: string, words: string])[] = [
  ['a block', 'spec:\n  task:\n    instruction: |\n      Read it.\n\n      Say it.\n  env: {A: b}\n', 'read it say it'],
  ['a folded block', 'spec:\n  task:\n    instruction: >-\n      one\n      two\nother: x\n', 'one two'],
  ['one line', 'spec:\n  task:\n    instruction: do it\n    agentskills: [a:b]\n', 'do it'],
  ['quotes', 'spec:\n  task:\n    "instruction": "do: it"\n', 'do it'],
  ['a line that goes on', 'spec:\n  task:\n    instruction: one\n      two\n    x: y\n', 'one two'],
  ['flow style', 'spec: {task: {instruction: do it, x: y}}\n', 'do it'],
  ['flow style over lines', 'spec: {\n  task: {instruction: do it}}\n', 'do it'],
  ['JSON', '{"spec":{"task":{"instruction":"do it"}}}', 'do it'],
  ['a list', 'spec:\n  context:\n    - type: text\n      content: alpha\n    - content: beta\n', 'alpha beta'],
  [
    'states',
    'spec:\n  states:\n    A:\n      kind: Human\n      prompt: go?\n    B: {kind: Agent, agent: finder}\n',
    'go finder',
  ],
  ['no task', 'spec:\n  runtime: {language: python}\n', ''],
  ['what no parser reads', 'spec: {instruction: [do it\n', 'spec instruction do it'],
];

for (const [style, yaml, words] of rows) {
  test(`the words of an instruction are read from ${style}`, () => {
    assert.equal(wordsOf(tellingText(yaml)).join(' '), words);
  });
}
