import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGenerated, linesOf, projectFiles } from '../support/tree.ts';

const sources = projectFiles('.ts', '.tsx').filter((file) => !isGenerated(file));
const product = sources.filter((file) => !/^(test|bench|examples)\//.test(file));

const EXPORTED = /^export (?:async )?(?:const|let|function\*?|class) ([A-Za-z_$][\w$]*)/;
const WORD = /[A-Za-z_$][\w$]*/g;

test('every export of product code is used by another file', () => {
  /** In how many files a word stands. */
  const files = new Map<string, number>();
  for (const file of sources)
    for (const word of new Set(linesOf(file).join('\n').match(WORD))) files.set(word, (files.get(word) ?? 0) + 1);
  const unused = product.flatMap((file) =>
    linesOf(file)
      .map((line) => EXPORTED.exec(line)?.[1])
      .filter((name) => name !== undefined && files.get(name) === 1)
      .map((name) => `${file} ${name}`),
  );
  assert.deepEqual(unused, []);
});
