import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Handlebars from 'handlebars';
import { checkTemplate } from '../../../manifests/template/references.ts';
import { mustachesOf } from '../../../manifests/template/source.ts';
import { TemplateError } from '../../../manifests/template/tree.ts';
import { sample } from '../../support/size.ts';

class CallDepth extends Handlebars.Visitor {
  deepest = 0;
  #open = 0;

  override SubExpression(call: hbs.AST.SubExpression): void {
    this.#open += 1;
    this.deepest = Math.max(this.deepest, this.#open);
    super.SubExpression(call);
    this.#open -= 1;
  }
}

function parserDepth(text: string): number | null {
  try {
    const visitor = new CallDepth();
    visitor.accept(Handlebars.parse(text));
    return visitor.deepest;
  } catch {
    return null;
  }
}

const opening = fc.constantFrom(
  '{{a ',
  '{{{a ',
  '{{~a ',
  '{{&a ',
  '{{#a ',
  '\\{{',
  '\\\\{{a ',
  '{{!',
  '{{!--',
  '{{else ',
);
const inner = fc.constantFrom('(b ', '(b ', ')', ')', '"', '"', "'", '\\"', '[x]', '[', ']', ' c', '~');
const closing = fc.constantFrom('}}', '}}', '}}}', '~}}', '}~}}', '--}}', '{{/a}}', ' text ', '\\', '"');
const mustache = fc.tuple(opening, fc.array(inner, { maxLength: 6 }), closing).map(([a, b, c]) => a + b.join('') + c);

test('brackets that the parser sees are never hidden from the count before it', () => {
  const runs = sample({ normal: 1_000, long: 20_000 });
  let parsed = 0;
  fc.assert(
    fc.property(fc.array(mustache, { maxLength: 5 }), (parts) => {
      const text = parts.join('');
      const seen = parserDepth(text);
      if (seen === null) return;
      parsed += 1;
      try {
        const counted = Math.max(0, ...[...mustachesOf(text)].map(({ callDepth }) => callDepth));
        assert.ok(counted >= seen, `${counted} counted, ${seen} parsed`);
      } catch (thrown) {
        if (!(thrown instanceof TemplateError)) throw thrown;
      }
    }),
    { numRuns: runs },
  );
  assert.ok(parsed > runs / 10, `only ${parsed} of ${runs} texts were templates`);
});

class BlockDepth extends Handlebars.Visitor {
  deepest = 0;
  #open = 0;

  override BlockStatement(block: hbs.AST.BlockStatement): void {
    this.#open += 1;
    this.deepest = Math.max(this.deepest, this.#open);
    super.BlockStatement(block);
    this.#open -= 1;
  }
}

const open = fc.constantFrom('{{#a}}', '{{~#a~}}', '{{#a}}{{else a}}', '{{#a}}{{^}}', '{{^a}}', '{{#a}}{{~ else a ~}}');
const decoy = fc.constantFrom(
  '',
  '',
  '{{!-- {{/a}} --}}',
  '{{! {{/a}}',
  '\\{{/a}}',
  '{{"{{/a}}"}}',
  '{{[{{/a}}]}}',
  "{{a '}}{{/a}}'}}",
  '{{{a}~}}',
  '\\\\{{a}}',
);

test('blocks that the parser sees are never hidden from the count before it', () => {
  let deep = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(open, decoy), { minLength: 60, maxLength: 70 }), (parts) => {
      const text = parts.map((part) => part.join('')).join('') + '{{/a}}'.repeat(parts.length);
      const visitor = new BlockDepth();
      try {
        visitor.accept(Handlebars.parse(text));
      } catch {
        return;
      }
      if (visitor.deepest <= 64) return;
      deep += 1;
      assert.match(checkTemplate(text) ?? 'accepted', /nested deeper than 64/);
    }),
    { numRuns: 200 },
  );
  assert.ok(deep > 0, 'none of the texts was deep');
});
