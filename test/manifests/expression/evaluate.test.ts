import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateExpression } from '../../../manifests/expression/evaluate.ts';
import { checkExpression, expressionReferences } from '../../../manifests/expression/parse.ts';
import { TemplateError } from '../../../manifests/template/tree.ts';

const SCOPE = {
  BUILD: { score: 0.8, status: 'success', output: { exit_code: 0, stdout: '10\n', stderr: '' } },
  'my state': { output: 'done' },
  'my-state': { output: { n: 2 } },
  input: { items: ['a', 'b', 'c'], name: "O'Hara", yes: true, no: false, nil: null, map: { a: 1 } },
  blackboard: {
    attack: '1 || true',
    quote: "' || true || '",
    braces: '{{input.yes}}',
    off: 'false',
    empty: '',
    nought: '0',
    json: '{"ok":true}',
  },
  length: 7,
};

const TRUE = [
  // < > <= >= with their boundaries
  'BUILD.score < 0.81',
  'BUILD.score > 0.79',
  'BUILD.score <= 0.8',
  'BUILD.score >= 0.8',
  '-1 < 0',
  '1e3 > 999',
  // == !=
  'BUILD.score == 0.8',
  'BUILD.score != 0.9',
  "BUILD.status == 'success'",
  'BUILD.status != "failed"',
  "'a\\'b' == \"a'b\"",
  // && || ! and their order
  'true || false && false',
  '!(true && false)',
  '!false == true',
  '!BUILD.score == false',
  '1 < 2 == true',
  'true && !false',
  '(true || true) && true',
  // a number against numeric text; else text
  'BUILD.output.stdout == 10',
  'BUILD.output.stdout > 9',
  "'9' < '10'",
  "'9\\n' < ' 10'",
  "'10' < '9a'",
  "BUILD.output.stdout > '9'",
  "'1.0' != '1'",
  "1 == '1.0'",
  "input.yes == 'true'",
  "'b' > 'a'",
  'input.map == \'{"a":1}\'',
  "1 < 'a'",
  "'' != 0",
  // null and missing
  'nope == null',
  'input.nil == null',
  'nope == input.nil',
  '!nope',
  'nope != 0',
  "nope != ''",
  'nope != false',
  // helpers of templates
  "(eq BUILD.status 'success')",
  '{{eq BUILD.output.stdout 10}}',
  '(add BUILD.output.stdout 1) == 11',
  '{{add (length input.items) 1}} > 3',
  "(lookup (parseJson blackboard.json) 'ok')",
  "(parseJson '3') < 4 && !(eq nope 1)",
  '(eq nope null)',
  // truthiness
  'input.yes',
  '!input.no',
  '!BUILD.output.exit_code',
  '!blackboard.off',
  '!blackboard.empty',
  'input.items',
  'input.map',
  'blackboard.nought',
  // references in both forms, names with dashes, spaces and indexes
  '{{BUILD.score}} >= 0.8',
  '{{ BUILD.status }} == "success"',
  "[my state].output == 'done'",
  'my-state.output.n == 2',
  'input.items.0 == "a"',
  '{{input.items.0}} == "a"',
  '{{{BUILD.score}}} > 0.5',
  // helpers
  '{{length input.items}} == 3',
  '(length input.items) > 2',
  "(upper (trim BUILD.status)) == 'SUCCESS'",
  "{{default nope 'x'}} == 'x'",
  // quoted templates and whole templates
  "'{{BUILD.status}}' == 'success'",
  '"{{BUILD.status}}-{{BUILD.score}}" == \'success-0.8\'',
  "'{{nope}}' == null",
  '{{#if BUILD.score}}true{{else}}false{{/if}}',
  '{{#if nope}}1{{else}}2{{/if}} > 1',
  // operators inside the branches of a block
  '{{#if nope}}true{{else}}1 == 1{{/if}}',
  '{{#if BUILD.score}}BUILD.score > 0.5 && input.yes{{else}}false{{/if}}',
  '{{#unless nope}}{{BUILD.score}} > 0.5{{/unless}}',
  "{{#if nope}}1 > 2{{else if input.yes}}BUILD.status == 'success'{{else}}1 > 2{{/if}}",
  '{{#if input.yes}}{{#if nope}}1 > 2{{else}}2 > 1{{/if}}{{/if}} && true',
  '!{{#if nope}}1 == 1{{else}}!true{{/if}}',
  '{{#each input.items}}{{this}}{{/each}} == "abc"',
  // values are data
  'blackboard.attack != true',
  "blackboard.attack == '1 || true'",
  "blackboard.braces == '\\{{input.yes}}' || true",
  'blackboard.quote != 1',
  '!("{{blackboard.quote}}" == "")',
];

const FALSE = [
  'BUILD.score < 0.8',
  'BUILD.score > 0.8',
  'BUILD.score <= 0.79',
  'BUILD.score >= 0.81',
  'BUILD.score == 0.9',
  'BUILD.score != 0.8',
  'false || false',
  'true && false',
  '!true',
  'nope',
  'nope < 1',
  'nope > 1',
  'nope <= null',
  'null >= null',
  'nope == 0',
  "nope == 'null'",
  'input.nil',
  'input.no',
  '0',
  "''",
  "'false'",
  'false',
  'null',
  '-0',
  '0.0',
  '{{BUILD.score}} > 0.8',
  '(length input.items) > 3',
  '(length nope) > 0',
  '{{#if nope}}true{{else}}false{{/if}}',
  '{{#if nope}}1{{else}}0{{/if}}',
  '{{#if nope}}1 == 1{{/if}}',
  '{{#if input.yes}}1 == 2{{else}}true{{/if}}',
  '{{#if input.yes}}{{blackboard.attack}}{{else}}1 == 1{{/if}} == 1',
  '{{#if input.yes}}{{nope}}{{/if}}',
  "'{{nope}}'",
  'input.constructor',
  'constructor',
  'input.items.map',
  'input.__proto__.x == 1',
  '(lookup input "constructor")',
  '{{blackboard.attack}} == 1',
  'blackboard.attack == 1',
  'blackboard.attack == true',
  '"{{blackboard.quote}}" == "\'"',
  '{{blackboard.off}} || false',
];

for (const [expected, expressions] of [
  [true, TRUE],
  [false, FALSE],
] as const) {
  for (const expression of expressions) {
    test(`${expression} is ${expected}`, () => {
      assert.equal(checkExpression(expression), null);
      assert.equal(evaluateExpression(expression, SCOPE, { state: 'S' }), expected);
    });
  }
}

const REFUSED: readonly (readonly [expression: string, why: RegExp])[] = [
  ['', /at character 1: expected a value/],
  ['   ', /expected a value/],
  ['a <', /at character 4: expected a value, got the end/],
  ['< a', /at character 1: expected a value, got </],
  ['a b', /at character 3: expected an operator/],
  ['a = 1', /at character 3: unexpected "= 1"/],
  ['a & b', /unexpected/],
  ['a === b', /unexpected|expected a value/],
  ['1 < 2 < 3', /not chained/],
  ['a == b == c', /not chained/],
  ['(a', /expected an operator or \)/],
  ['a)', /expected an operator or the end/],
  ["'open", /unexpected/],
  ['{{a', /not closed/],
  ['{{a b}}', /no helper a/],
  ['{{> p}}', /partials/],
  ['(length a b)', /length takes array/],
  ['(length a', /not closed/],
  ['length', /length takes array/],
  ['{{#if a}}x', /block is not closed/],
  ['{{#each a}}{{b}} > 1{{/each}}', /operators inside {{#each}}/],
  ['{{#if a}}{{b}} > {{/if}}', /at character 18: expected a value/],
  ['a.b()', /expected/],
  ['a + 1', /expected an operator|no helper|unexpected/],
  ['process.exit(1)', /expected an operator/],
  ['1a2 > `x`', /unexpected/],
  [`${'!'.repeat(65)}a`, /nested deeper than 64/],
  [`${'('.repeat(65)}a${')'.repeat(65)}`, /nested deeper than 64/],
  ['a'.repeat(8_193), /at most 8192 characters/],
];

for (const [expression, why] of REFUSED) {
  test(`${JSON.stringify(expression.slice(0, 40))} is refused by the check`, () => {
    assert.match(checkExpression(expression) ?? 'accepted', why);
    assert.throws(() => evaluateExpression(expression, SCOPE, { state: 'S' }), TemplateError);
  });
}

test('a member that is named like a helper is written with this', () => {
  assert.equal(evaluateExpression('this.length == 7', SCOPE, { state: 'S' }), true);
});

test('references of an expression are listed with their place', () => {
  const expression = "BUILD.score > 0.8 && ({{ input.x }} == '{{y.z}}' || (default w.v 1) < [my state].n)";
  const found = expressionReferences(expression);
  assert.deepEqual(
    found.map(({ path, conditional }) => [path.join('.'), conditional]),
    [
      ['BUILD.score', false],
      ['input.x', false],
      ['y.z', false],
      ['w.v', true],
      ['my state.n', false],
    ],
  );
  for (const { path, offset } of found)
    assert.ok(
      expression
        .slice(offset)
        .replace('[', '')
        .startsWith(path[0] ?? '-'),
    );
});

test('work is bounded: a long expression over a huge value is stopped by its budget', () => {
  const big = Array.from({ length: 100_000 }, () => 'xxxxxxxx');
  const expression = Array.from({ length: 100 }, () => "big == 'x'").join(' || ');
  assert.throws(
    () => evaluateExpression(expression, { big }, { state: 'S' }),
    (thrown) => thrown instanceof TemplateError && thrown.code === 'too_much_work',
  );
});
