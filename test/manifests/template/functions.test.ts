import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTemplate } from '../../../manifests/template/check.ts';
import { renderTemplate } from '../../../manifests/template/render.ts';

const SCOPE = {
  list: [1, 'two', { three: 3 }],
  none: [],
  map: { a: 1, b: [null, true] },
  text: '  Straße\nsecond  ',
  lines: 'one\r\ntwo',
  empty: '',
  zero: 0,
  no: false,
  nil: null,
};

const ROWS: readonly (readonly [template: string, text: string])[] = [
  ['{{length list}}', '3'],
  ['{{length none}}', '0'],
  ['{{length map}}', '2'],
  ['{{length lines}}', '8'],
  ['{{length zero}}{{length nil}}', '00'],
  ["{{upper 'abc'}}", 'ABC'],
  ['{{upper zero}}', '0'],
  ["{{lower 'ABC'}}", 'abc'],
  ['<{{trim text}}>', '<Straße\nsecond>'],
  ['{{json map}}', '{"a":1,"b":[null,true]}'],
  ['{{json lines}}', '"one\\r\\ntwo"'],
  ['{{json nil}}', 'null'],
  ['{{first_line lines}}', 'one'],
  ['{{first_line empty}}', ''],
  ["{{first_line 'alone'}}", 'alone'],
  ["{{default empty 'x'}}{{default nil 'y'}}", 'xy'],
  ["{{default zero 'x'}}{{default no 'y'}}", '0false'],
  ['{{default nope 5}}{{default nope true}}{{default nope null}}', '5true'],
  ["{{lookup list 1}}{{lookup map 'a'}}", 'two1'],
  ['{{length (lookup map "b")}}', '2'],
  ['{{upper (first_line (trim text))}}', 'STRASSE'],
  ['{{#if list}}y{{/if}}{{#if none}}n{{/if}}{{#if zero}}n{{/if}}{{#if zero includeZero=true}}z{{/if}}', 'yz'],
  ['{{#unless no}}u{{/unless}}{{^if no}}v{{/if}}', 'uv'],
  ['{{#if no}}1{{else if zero}}2{{else if list}}3{{else}}4{{/if}}', '3'],
  ['{{#each list}}{{@index}}{{#if @last}}.{{else}},{{/if}}{{/each}}', '0,1,2.'],
  ['{{#each map}}{{@key}}={{this}};{{/each}}', 'a=1;b=[null,true];'],
  ['{{#each list as |item at|}}{{at}}:{{item}} {{/each}}', '0:1 1:two 2:{"three":3} '],
  ['{{#each map.b}}{{@../index}}{{/each}}', '[missing: @../index in S]'.repeat(2)],
  ['{{#each none}}x{{else}}none{{/each}}', 'none'],
  ['{{#with map}}{{a}}{{../zero}}{{/with}}', '10'],
  ['{{#with map as |m|}}{{m.a}}{{/with}}', '1'],
  ['{{#map}}{{a}}{{/map}}{{#none}}x{{/none}}{{^none}}empty{{/none}}', '1empty'],
  ['a{{! gone }}b{{!-- {{gone}} --}}c \\{{kept}}', 'abc {{kept}}'],
  ['{{[length]}}{{this.upper}}', '[missing: [length] in S][missing: this.upper in S]'],
];

for (const [template, text] of ROWS) {
  test(`${template} renders ${JSON.stringify(text)}`, () => {
    assert.equal(checkTemplate(template), null);
    assert.equal(renderTemplate(template, SCOPE, { state: 'S', maxChars: 1_000 }), text);
  });
}

const REFUSED: readonly (readonly [template: string, why: RegExp])[] = [
  ['{{', /Parse error/],
  ['{{#if a}}', /Parse error/],
  ['{{#if a}}{{/each}}', /doesn't match/],
  ['{{> other}}', /line 1: partials are not available/],
  ['{{#> other}}{{/other}}', /partials/],
  ['a\n{{* inline}}', /line 2: decorators/],
  ['{{#* inline "x"}}{{/inline}}', /decorators/],
  ['{{log a}}', /no helper log/],
  ['{{helperMissing a}}', /no helper helperMissing/],
  ['{{constructor a}}', /no helper constructor/],
  ['{{a (nope b)}}', /no helper a/],
  ['{{upper (nope b)}}', /no helper nope/],
  ['{{#blockHelperMissing a}}{{/blockHelperMissing}}', /no block/],
  ['{{length}}', /length takes array, got 0 arguments/],
  ['{{length a b}}', /length takes array, got 2 arguments/],
  ['{{default a}}', /default takes value and fallback, got 1/],
  ['{{upper a x=1}}', /no named arguments/],
  ['{{a x=1}}', /no named arguments/],
  ['{{#each}}{{/each}}', /#each needs an argument/],
  ['{{#each a b}}{{/each}}', /one argument/],
  ['{{#if a limit=1}}{{/if}}', /no option limit/],
  ['{{#if a as |x|}}{{/if}}', /no block parameters/],
  ['{{@nope}}', /no @nope/],
  ['{{{{raw}}}}{{{{/raw}}}}', /raw blocks/],
  ['x'.repeat(262_145), /at most 262144 characters/],
];

for (const [template, why] of REFUSED) {
  test(`${template.slice(0, 60)} is refused by the check`, () => {
    assert.match(checkTemplate(template) ?? 'accepted', why);
  });
}
