import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTemplate } from '../../../manifests/template/references.ts';
import { renderTemplate } from '../../../manifests/template/rendering.ts';
import { TemplateError } from '../../../manifests/template/tree.ts';

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
  numeric: ' 41\n',
  answer: '{"ok":true,"items":[{"n":1},{"n":2}]}',
  inherited: '{"__proto__":{"x":1}}',
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
  ['{{eq text text}},{{eq zero 0}},{{eq numeric 41}},{{eq no "false"}},{{eq map map}}', 'true,true,true,true,true'],
  ['{{eq zero ""}},{{eq nil zero}},{{eq "1" "1.0"}},{{eq zero no}}', 'false,false,false,false'],
  ['{{eq nope null}},{{eq null nope}},{{eq nope gone}},{{eq nope "x"}}', 'true,true,true,false'],
  ['{{#if (eq lines lines)}}same{{/if}}{{#unless (eq zero 1)}} other{{/unless}}', 'same other'],
  ['{{#if (eq zero 1)}}1{{else if (eq zero 0)}}0{{/if}}', '0'],
  ['{{add zero 1}},{{add numeric 1}},{{add "-2.5" 0.5}}', '1,42,-2'],
  ['{{#each list}}{{add @index 1}}.{{/each}}', '1.2.3.'],
  ['{{add (default nope 0) (length list)}}', '3'],
  ['{{add nope 1}}', '[missing: nope in S]'],
  ['{{#with (parseJson answer)}}{{ok}}{{items.1.n}}{{/with}}', 'true2'],
  ['{{#each (lookup (parseJson answer) "items")}}{{n}};{{/each}}', '1;2;'],
  ['{{length (lookup (parseJson answer) "items")}}{{parseJson " 7 "}}{{parseJson "null"}}', '27'],
  ['{{parseJson nope}}{{lookup (parseJson answer) "no"}}', '[missing: nope in S][missing: (parseJson answer).no in S]'],
  ['{{lookup (parseJson answer) "constructor"}}', '[missing: (parseJson answer).constructor in S]'],
  ['{{#with (parseJson inherited)}}{{x}}{{/with}}', '[missing: x in S]'],
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
  ['{{eq a}}', /eq takes value and other, got 1/],
  ['{{#if (eq a b c)}}{{/if}}', /eq takes value and other, got 3/],
  ['{{add a}}', /add takes number and number, got 1/],
  ['{{parseJson}}', /parseJson takes text, got 0/],
  ['{{parsejson a}}', /no helper parsejson/],
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

const WRONG: readonly (readonly [template: string, why: string])[] = [
  ['{{add text 1}}', 'add takes numbers, text is the text "  Straße\\nsecond  "'],
  ['{{add 1 empty}}', 'add takes numbers, empty is the text ""'],
  ['{{add nil 1}}', 'add takes numbers, nil is null'],
  ['{{add no 1}}', 'add takes numbers, no is false'],
  ['{{add 1 list}}', 'add takes numbers, list is a list'],
  ['{{add "1e308" "1e308"}}', 'add: the sum is no finite number'],
  ['{{parseJson map}}', 'parseJson takes text, map is a map'],
  ['{{parseJson zero}}', 'parseJson takes text, zero is 0'],
  ['{{parseJson empty}}', 'parseJson takes JSON, empty is the text ""'],
  [
    "{{parseJson 'Here it is, just as you have asked for: {}'}}",
    'the text "Here it is, just as you have asked for: "…',
  ],
];

for (const [template, why] of WRONG) {
  test(`${template} says which argument is wrong`, () => {
    assert.equal(checkTemplate(template), null);
    assert.throws(
      () => renderTemplate(template, SCOPE, { state: 'S', maxChars: 1_000 }),
      (thrown) => thrown instanceof TemplateError && thrown.code === 'invalid' && thrown.message.endsWith(why),
    );
  });
}
