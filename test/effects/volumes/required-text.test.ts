import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { requiredText, textFinder } from '../../../effects/volumes/search/grep.ts';
import { linearRegex } from '../../../manifests/re2.ts';
import { sample } from '../../support/size.ts';

test('text that every match contains is found, and none is returned where it is not certain', () => {
  const expected: [string, string | null][] = [
    ['needle_7f3a', 'needle_7f3a'],
    ['needle_[0-9a-f]+ [0-9]+', 'needle_'],
    ['(needle|haystack)_7', '_7'],
    ['colou?r', 'colo'],
    ['ab*cd', 'cd'],
    ['ab{0,2}', 'a'],
    ['a+bc', 'bc'],
    ['foo\\.bar\\(', 'foo.bar('],
    ['^import .* from$', 'import '],
    ['one|two', null],
    ['(?i)word', null],
    ['\\x41bc', null],
    ['[]a]b', 'b'],
    ['[A-Z][a-z]+[0-9]', null],
    ['\\bword\\b', 'word'],
  ];
  for (const [pattern, text] of expected) assert.equal(requiredText(pattern), text, pattern);
});

test('every match contains the required text', () => {
  const atom = fc.constantFrom('a', 'b', '_', 'ab', '.', '[ab]', '[^a]', '(a|b)', '(ab_)', '\\.', '\\w', '\\b', '-');
  const part = fc
    .tuple(atom, fc.constantFrom('', '', '*', '+', '?', '{0,1}', '{2}', '*?'))
    .map((pair) => pair.join(''));
  const pattern = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
  const line = fc
    .array(fc.constantFrom('a', 'b', '_', '.', '-', ' '), { maxLength: 16 })
    .map((chars) => chars.join(''));
  fc.assert(
    fc.property(pattern, line, (source, text) => {
      const required = requiredText(source);
      if (required === null || !linearRegex(source).test(text)) return;
      assert.ok(textFinder(required)(Buffer.from(text)), `${source} needs ${required} in ${text}`);
    }),
    { numRuns: sample({ normal: 2_000, long: 20_000 }) },
  );
});

test('the finder agrees with a plain search', () => {
  const text = fc.array(fc.constantFrom('e', '_', 'x', 'é'), { maxLength: 80 }).map((chars) => chars.join(''));
  const needle = fc
    .array(fc.constantFrom('e', '_', 'x'), { minLength: 1, maxLength: 4 })
    .map((chars) => chars.join(''));
  fc.assert(
    fc.property(needle, text, (what, where) => textFinder(what)(Buffer.from(where)) === where.includes(what)),
    { numRuns: sample({ normal: 500, long: 5_000 }) },
  );
});
