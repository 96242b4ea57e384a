import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalHash } from '../../manifests/audit/record.ts';
import { jsonInTurns } from '../../runtime/kit/json-pieces.ts';
import { refuseLargeExecution } from '../../usecases/executions.ts';
import { hashInTurns } from '../../usecases/large-values.ts';

const names = Object.fromEntries(
  Array.from({ length: 20_000 }, (_none, at) => [`${at % 7}name ${at}`, { at, x: null }]),
);
const VALUES: readonly (readonly [string, unknown])[] = [
  ['one text', 'x'.repeat(400_000)],
  ['escapes', { text: '\n"\\\u0001'.repeat(150_000), z: [], a: {} }],
  ['pairs at every border', { a: `x${'\u{1f642}'.repeat(300_000)}` }],
  ['halves of pairs', { a: '\ud83d'.repeat(300_000), b: ['\ude42'.repeat(200_000), 1] }],
  ['names, and a member without a value', { z: names, none: undefined, list: [names, 'é'.repeat(300_000), -0, 1e21] }],
  ['half a pair in a name', { ...names, '\ud83d': 'x'.repeat(300_000), a: 1 }],
];

for (const [title, value] of VALUES) {
  test(`a value written and hashed in pieces equals the value written at once: ${title}`, async () => {
    assert.ok((await jsonInTurns(value)) === JSON.stringify(value));
    assert.equal(await hashInTurns(value), canonicalHash(value));
  });
}

test('an input that is refused before its start names the limit of the execution', () => {
  const refused = { code: 'payload_too_large', message: /^input has more than 1048576 bytes$/ };
  assert.throws(() => refuseLargeExecution({ input: 'x'.repeat(3 * 1024 * 1024), context: {} }), refused);
});
