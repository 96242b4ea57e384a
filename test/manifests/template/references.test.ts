import assert from 'node:assert/strict';
import { test } from 'node:test';
import { templateReferences } from '../../../manifests/template/references.ts';

/** References as `path@offset`, with `?` when conditional. */
const ROWS: readonly (readonly [template: string, references: readonly string[]])[] = [
  ['no templates', []],
  ['{{input.name}}', ['input.name@2']],
  ['ä\r\n{{ BUILD.output.stdout }}\n{{{x}}}', ['BUILD.output.stdout@6', 'x@32']],
  ['{{[my state].output}}{{my-state.output}}', ['my state.output@2', 'my-state.output@23']],
  ['{{a.0}}{{a.[1].b}}{{a.2.c}}', ['a.0@2', 'a.1.b@9', 'a.2.c@20']],
  ['{{upper (trim a.b)}}', ['a.b@14']],
  ["{{default a.b 'x'}}{{default c d.e}}", ['a.b@10?', 'c@29?', 'd.e@31']],
  ['{{default (upper a) b}}', ['a@17?', 'b@20']],
  ['{{#if a.b}}{{a.b}}{{a.b.c}}{{a.d}}{{/if}}{{a.b}}', ['a.b@6?', 'a.b@13?', 'a.b.c@20', 'a.d@29', 'a.b@43']],
  ['{{#if a}}x{{else}}{{a}}{{/if}}', ['a@6?', 'a@20']],
  ['{{#unless a}}{{a}}{{else}}{{a}}{{/unless}}', ['a@10?', 'a@15', 'a@28?']],
  ['{{#each a.b}}{{this.x}}{{y}}{{@index}}{{@key}}{{/each}}', ['a.b@8']],
  ['{{#each a}}{{../b}}{{@root.c.d}}{{#if x}}{{../e}}{{/if}}{{/each}}', ['a@8', 'b@13', 'c.d@21', 'e@43']],
  ['{{#each a as |item|}}{{item.x}}{{../b}}{{/each}}', ['a@8', 'b@33']],
  ['{{#each a}}x{{else}}{{b}}{{/each}}', ['a@8?', 'b@22']],
  ['{{#with a.b}}{{c}}{{../d}}{{/with}}', ['a.b@8', 'a.b.c@15', 'd@20']],
  ['{{#with a as |x|}}{{x.y}}{{/with}}', ['a@8', 'a.y@20']],
  ['{{#a}}{{b}}{{/a}}', ['a@3?']],
  ['{{this.a}}{{./b}}{{this}}', ['a@2', 'b@12']],
  ['{{lookup a b}}', ['a@9', 'b@11']],
  ['{{!-- {{a}} --}}\\{{b}}', []],
];

for (const [template, references] of ROWS) {
  test(`references of ${JSON.stringify(template)}`, () => {
    const found = templateReferences(template).map(
      ({ path, offset, conditional }) => `${path.join('.')}@${offset}${conditional ? '?' : ''}`,
    );
    assert.deepEqual(found, references);
  });
}
