import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRestServer } from '../../../transport/rest/server.ts';
import { PatternsQuery, StorePatternBody } from '../../../usecases/operations/patterns.ts';
import { SearchQuery } from '../../../usecases/operations/schemas/catalog.ts';
import { limitField, skipField } from '../../../usecases/operations/schemas/fields.ts';
import { describedNode, wholeNode } from './whole-node.ts';

const scoreOf = (min_score: string) => SearchQuery.safeParse({ q: 'x', min_score }).data?.min_score;
const leastOf = (min_success_score: string) => PatternsQuery.safeParse({ min_success_score }).data?.min_success_score;

test('a share of 0 to 1 is taken the way each client prints it', () => {
  for (const share of [0, 1, 0.3, 1e-7, 5e-324, 0.0014116874690093264, 0.1 + 0.2])
    assert.deepEqual([scoreOf(String(share)), leastOf(String(share))], [share, share]);
  assert.equal(scoreOf('1E-1'), 0.1);
});

test('a value that is no number from 0 to 1 is refused', () => {
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

test('a number that is none, or out of its bounds, is refused with the bounds', () => {
  const textOf = (result: ReturnType<ReturnType<typeof limitField>['safeParse']>) => result.error?.issues[0]?.message;
  const limit = limitField(50, 500);
  for (const given of ['-1', '0', 'many', '1.5', '', '2147483648', '9999999999', '99999999999'])
    assert.equal(textOf(limit.safeParse(given)), 'expected a whole number from 1 to 500', given);
  for (const all of ['501', '2147483647'])
    assert.equal(limit.parse(all), Number(all), 'above the most it is capped, not refused');
  assert.equal(textOf(skipField.safeParse('-1')), 'expected a whole number from 0 to 1000000');
});

/**
 * Routes whose callers are not clients of the API: probes, and readers of well-known documents. Refused envelopes are
 * recorded in a session, which this node does not have.
 */
const FREE = /^\/(?:health|\.well-known)|^\/v1\/(?:webhooks\/|invoke$|seal\/invoke$)/;

test('every route refuses a query parameter that it does not have, by its name', async () => {
  const { operationIds } = await describedNode();
  await using app = createRestServer(wholeNode());
  const taken: string[] = [];
  for (const route of Object.keys(operationIds)) {
    const [method = '', path = ''] = route.split(' ');
    if (FREE.test(path)) continue;
    const url = `${path.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000')}?no_such_name=1`;
    const answer = await app.inject({ method: method as 'GET', url, headers: { authorization: 'Bearer admin' } });
    if (answer.statusCode === 400 && answer.body.includes('querystring.no_such_name: unknown query parameter'))
      continue;
    taken.push(`${route}: ${answer.statusCode} ${answer.body.slice(0, 200)}`);
  }
  assert.deepEqual(taken, []);
});
