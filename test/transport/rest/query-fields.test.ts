import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PatternsQuery, StorePatternBody } from '../../../usecases/operations/patterns.ts';
import { SearchQuery } from '../../../usecases/operations/schemas/catalog.ts';

const scoreOf = (min_score: string) => SearchQuery.safeParse({ q: 'x', min_score }).data?.min_score;
const leastOf = (min_success_score: string) => PatternsQuery.safeParse({ min_success_score }).data?.min_success_score;

test('a share of 0 to 1 is taken the way each client prints it', () => {
  for (const share of [0, 1, 0.3, 1e-7, 5e-324, 0.0014116874690093264, 0.1 + 0.2])
    assert.deepEqual([scoreOf(String(share)), leastOf(String(share))], [share, share]);
  assert.equal(scoreOf('1E-1'), 0.1);
});

test('what is no number, or none from 0 to 1, is refused', () => {
  for (const text of [
    '',
    ' ',
    '.5',
    '0x1',
    '-0.1',
    '1.1',
    '1e3',
    'NaN',
    'Infinity',
    '01',
    '0,5',
    `0.${'1'.repeat(50)}`,
  ])
    assert.deepEqual([scoreOf(text), leastOf(text)], [undefined, undefined], text);
});

test('blank texts are refused, and the field is named as the caller wrote it', () => {
  const fieldsOf = (result: ReturnType<typeof SearchQuery.safeParse | typeof StorePatternBody.safeParse>) =>
    result.error?.issues.map(({ path }) => path.join('.'));
  assert.deepEqual(fieldsOf(SearchQuery.safeParse({ q: ' \n' })), ['q']);
  const body = { error_signature: ' ', error_type: '', solution_approach: '\t', tags: ['a', ' '] };
  assert.deepEqual(fieldsOf(StorePatternBody.safeParse(body)), [
    'error_signature',
    'error_type',
    'solution_approach',
    'tags.1',
  ]);
});
