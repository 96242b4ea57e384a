import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { evaluateExpression } from '../../../manifests/expression/evaluate.ts';
import { checkExpression } from '../../../manifests/expression/parse.ts';
import { TemplateError } from '../../../manifests/template/tree.ts';
import { sample } from '../../support/size.ts';

type Plain = null | boolean | number | string;

/** An expression and what it means, made side by side. */
interface Meant {
  readonly text: string;
  readonly value: Plain;
}

const SCOPE: Readonly<Record<string, Plain>> = {
  zero: 0,
  half: 0.5,
  ten: 10,
  tenText: '10',
  word: 'abc',
  empty: '',
  yes: true,
  no: false,
  off: 'false',
  nil: null,
  attack: '1 || true',
};

const truthy = (value: Plain) =>
  !(value === null || value === false || value === 0 || value === '' || value === 'false');

function comparable(operator: string, left: Plain, right: Plain): [number, number] | [string, string] {
  const numeric = (value: Plain) =>
    typeof value === 'number' || (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)));
  const isOrder = operator.startsWith('<') || operator.startsWith('>');
  const may = isOrder || typeof left === 'number' || typeof right === 'number';
  return may && numeric(left) && numeric(right) ? [Number(left), Number(right)] : [String(left), String(right)];
}

function compared(operator: string, left: Plain, right: Plain): boolean {
  if (left === null || right === null) {
    const same = left === null && right === null;
    return operator === '==' ? same : operator === '!=' ? !same : false;
  }
  const [a, b] = comparable(operator, left, right);
  if (operator === '==') return a === b;
  if (operator === '!=') return a !== b;
  if (operator === '<') return a < b;
  if (operator === '>') return a > b;
  return operator === '<=' ? a <= b : a >= b;
}

const space = fc.constantFrom('', ' ', '\n ');
const reference = fc
  .constantFrom(...Object.keys(SCOPE), 'missing')
  .chain((name) =>
    fc.constantFrom(name, `{{${name}}}`, `{{ ${name} }}`).map((text): Meant => ({ text, value: SCOPE[name] ?? null })),
  );
const literal = fc.oneof(
  fc.constantFrom<Plain>(null, true, false).map((value): Meant => ({ text: String(value), value })),
  fc.constantFrom(0, 1, -1, 0.5, 10, 1e21).map((value): Meant => ({ text: String(value), value })),
  fc
    .constantFrom('', 'abc', '10', 'a b', '1 || true', '0.50', ')')
    .map((value): Meant => ({ text: `'${value}'`, value })),
  fc.constantFrom('say "x"', 'false').map((value): Meant => ({ text: JSON.stringify(value), value })),
);

const { expression } = fc.letrec<{ expression: Meant; grouped: Meant }>((tie) => ({
  grouped: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    reference,
    literal,
    tie('expression').map(({ text, value }): Meant => ({ text: `(${text})`, value })),
    tie('grouped').map(({ text, value }): Meant => ({ text: `!${text}`, value: !truthy(value) })),
  ),
  expression: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    tie('grouped'),
    fc.tuple(tie('grouped'), fc.constantFrom('<', '>', '<=', '>=', '==', '!='), tie('grouped'), space).map(
      ([left, operator, right, gap]): Meant => ({
        text: `${left.text} ${operator}${gap}${right.text}`,
        value: compared(operator, left.value, right.value),
      }),
    ),
    fc.tuple(tie('grouped'), tie('grouped'), tie('grouped')).map(
      ([a, b, c]): Meant => ({
        text: `${a.text} || ${b.text} && ${c.text}`,
        value: truthy(a.value) || (truthy(b.value) && truthy(c.value)),
      }),
    ),
    fc.tuple(tie('grouped'), tie('grouped'), tie('grouped'), space).map(
      ([a, b, c, gap]): Meant => ({
        text: `${a.text} == ${b.text}${gap}&& ${c.text}`,
        value: compared('==', a.value, b.value) && truthy(c.value),
      }),
    ),
  ),
}));

test('an expression is worth what its parts are worth', () => {
  fc.assert(
    fc.property(expression, ({ text, value }) => {
      fc.pre(text.length < 4_000);
      assert.equal(checkExpression(text), null);
      assert.equal(evaluateExpression(text, SCOPE, { state: 'S' }), truthy(value));
    }),
    { numRuns: sample({ normal: 300, long: 3_000 }) },
  );
});

test('no value of the scope changes how an expression is read', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.constantFrom('1 || true', "' || true || '", '" == "', '{{yes}}', '}} || true')),
      (value) => {
        const hold = (text: string) => evaluateExpression(text, { value }, { state: 'S' });
        assert.equal(hold("value == 'surely not this' || false"), false);
        assert.equal(hold("'{{value}}' == 'surely not this'"), false);
        assert.equal(hold('{{#if value}}{{value}}{{/if}} == "surely not this"'), false);
        assert.equal(hold('value == {{value}}'), true);
      },
    ),
  );
});

const piece = fc.constantFrom(
  '<',
  '>',
  '<=',
  '==',
  '!=',
  '!',
  '&&',
  '||',
  '(',
  ')',
  '{{',
  '}}',
  '{{#if a}}',
  '{{/if}}',
  '{{else}}',
  'a',
  'a.b',
  '[x y]',
  '0',
  '-1.5',
  "'",
  '"',
  "'t'",
  'null',
  'length ',
  '(length ',
  '\\',
  '.',
  ' ',
  '\n',
  '=',
  '#',
  '`',
);

test('any text is an expression or is reported, and never throws anything else', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(piece, { maxLength: 20 }).map((p) => p.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (text) => {
        if (checkExpression(text) === null)
          assert.equal(typeof evaluateExpression(text, SCOPE, { state: 'S' }), 'boolean');
        else assert.throws(() => evaluateExpression(text, SCOPE, { state: 'S' }), TemplateError);
      },
    ),
    { numRuns: sample({ normal: 300, long: 3_000 }) },
  );
});
