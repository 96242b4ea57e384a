import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentByText } from '../../../manifests/template/parse.ts';
import { checkTemplate } from '../../../manifests/template/references.ts';
import { renderTemplate } from '../../../manifests/template/rendering.ts';
import { TemplateError, type Value } from '../../../manifests/template/tree.ts';

const LIST = Array.from({ length: 2_000 }, (_, n) => n);

for (const template of [
  '{{constructor}}',
  '{{input.constructor.name}}',
  '{{input.__proto__.x}}',
  '{{toString}}',
  '{{input.toString.length}}',
  '{{list.map}}',
  '{{list.constructor}}',
  '{{text.split}}',
  '{{lookup input "constructor"}}',
  '{{lookup list "constructor"}}',
  '{{lookup (lookup this "__proto__") "x"}}',
  '{{#with input.constructor}}{{name}}{{/with}}',
  '{{#each input.__proto__}}{{this}}{{/each}}',
  '{{@root.constructor}}',
]) {
  test(`no prototype is reached by ${template}`, () => {
    const text = renderTemplate(template, { input: { x: 1 }, list: [1], text: 't' }, { state: 'S', maxChars: 1_000 });
    assert.match(text, /^\[missing: [^\]]+ in S\]$/);
  });
}

test('a key of the data that is named like a prototype member is data', () => {
  const scope = { constructor: 'c', input: JSON.parse('{"__proto__": {"x": 1}}') };
  assert.equal(renderTemplate('{{constructor}}{{input.__proto__.x}}', scope, { state: 'S', maxChars: 99 }), 'c1');
});

const HOSTILE: readonly (readonly [string, string, { readonly [key: string]: Value }])[] = [
  ['nested loops', '{{#each l}}{{#each ../l}}{{#each ../../l}}x{{/each}}{{/each}}{{/each}}', { l: LIST }],
  ['loops that write nothing', '{{#each l}}{{#each @root.l}}{{/each}}{{/each}}', { l: LIST }],
  ['a section as a loop', '{{#l}}{{#@root.l}}{{#@root.l}}{{/@root.l}}{{/@root.l}}{{/l}}', { l: LIST }],
  ['a huge value made into JSON', '{{length (json big)}}', { big: Array.from({ length: 500_000 }, () => 'xxxxxxxx') }],
  ['JSON of JSON of JSON', `{{length ${'(json '.repeat(15)}t${')'.repeat(15)}}}`, { t: '"\\'.repeat(500) }],
  [
    'large text changed in a loop',
    '{{#each l}}{{length (upper @root.t)}}{{/each}}',
    { l: LIST, t: 'x'.repeat(100_000) },
  ],
  [
    'keys of a large map in a loop',
    '{{#each l}}{{length @root.m}}{{/each}}',
    { l: LIST, m: Object.fromEntries(LIST.map((n) => [`k${n}`, n])), n: 0 },
  ],
  [
    'many long paths in a loop',
    `{{#each l}}${'{{#if @root.a.b.c.d.e.f.g.h}}{{/if}}'.repeat(50)}{{/each}}`,
    { l: LIST, a: {} },
  ],
  ['a huge text read as JSON', '{{length (parseJson t)}}', { t: `[${'[],'.repeat(800_000)}0]` }],
  [
    'the same text read as JSON in a loop',
    '{{#each l}}{{#if (parseJson @root.t)}}{{/if}}{{/each}}',
    { l: LIST, t: '[0,0,0]'.padEnd(2_000) },
  ],
  ['large values compared in a loop', '{{#each l}}{{#if (eq @root.m @root.m)}}{{/if}}{{/each}}', { l: LIST, m: LIST }],
  [
    'large texts compared in a loop',
    '{{#each l}}{{#if (eq @root.t (upper @root.t))}}{{/if}}{{/each}}',
    { l: LIST, t: 'X'.repeat(5_000) },
  ],
  ['JSON nested too deep', '{{json (parseJson t)}}', { t: '['.repeat(50_000) + ']'.repeat(50_000) }],
  ['a value nested too deep', '{{json deep}}', { deep: nested(50_000) }],
];

for (const [what, template, scope] of HOSTILE) {
  test(`a step budget stops ${what}`, () => {
    assert.equal(checkTemplate(template), null);
    assert.throws(
      () => renderTemplate(template, scope, { state: 'S', maxChars: 1_000_000 }),
      (thrown) => thrown instanceof TemplateError && thrown.code === 'too_much_work',
    );
  });
}

test('the result is never longer than allowed, and exactly as long is fine', () => {
  const render = (maxChars: number) => renderTemplate('{{a}}{{a}}b', { a: 'xxxx' }, { state: 'S', maxChars });
  assert.equal(render(9), 'xxxxxxxxb');
  assert.throws(
    () => render(8),
    (thrown) => thrown instanceof TemplateError && thrown.code === 'too_long',
  );
});

test('steps are counted, so the same template ends at the same place everywhere', () => {
  const render = (maxSteps: number) => renderTemplate('{{a}}{{a}}', { a: 1 }, { state: 'S', maxChars: 9, maxSteps });
  assert.equal(render(6), '11');
  assert.throws(() => render(5), TemplateError);
});

/** Each took the parser minutes, or hid open brackets from a count that reads less carefully than the parser. */
for (const template of [
  '{{#a}}'.repeat(5_000),
  '{{ #a}}'.repeat(5_000),
  '{{^a}}'.repeat(5_000),
  `{{#a}}${'{{else if b}}'.repeat(5_000)}{{/a}}`,
  `{{#a}}${'{{elsewhere}}'.repeat(5_000)}{{/a}}`,
  `{{a ${'(b '.repeat(20_000)}`,
  `{{a ${'(b '.repeat(20_000)}${')'.repeat(20_000)}}}`,
  `{{a "}}" ${'(b '.repeat(20_000)}`,
  `{{{a}~}}{{a ${'(b '.repeat(20_000)}`,
  `{{!-- " --}}{{a ${'(b '.repeat(20_000)}`,
  `\\{{ " {{a ${'(b '.repeat(20_000)}"`,
  `\\\\{{a ${'(b '.repeat(20_000)}`,
  `{{[(] ${'(b '.repeat(20_000)}`,
]) {
  test(`nesting never reaches the parser: ${template.slice(0, 24)}…`, () => {
    assert.match(checkTemplate(template) ?? 'accepted', /nested deeper than/);
  });
}

test('parsed templates are kept, the least recently used one goes first', () => {
  const made: string[] = [];
  const recent = new RecentByText((text) => made.push(text), 2, 10);
  for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) recent.get(text);
  assert.deepEqual(made, ['a', 'b', 'c', 'b']);
  recent.get('123456789');
  assert.equal(recent.size, 2);
  recent.get('12345678901');
  assert.equal(recent.size, 0);
});

function nested(depth: number): Value {
  let value: Value = 1;
  for (let n = 0; n < depth; n += 1) value = [value];
  return value;
}
