import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { workflowInput } from '../../../actors/stimulus/starting.ts';
import { sample } from '../../support/size.ts';

/** JSON text; every third name is that of a prototype. */
const { value: jsonText } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom('0', 'true', 'null', '"text"', '"__proto__"'),
    fc.array(tie('value'), { maxLength: 4 }).map((list) => `[${list.join(',')}]`),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(fc.constantFrom('a', 'b', '__proto__', '\\u005f_proto__'), tie('value')), { maxLength: 4 })
    .map((members) => `{${members.map(([name, text]) => `"${name}":${text}`).join(',')}}`),
}));

test('the input of a workflow is the content without members that are named like prototypes, at every depth', () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      const content = `{"in":${text}}`;
      const expected: unknown = JSON.parse(content, (name, value) => (name === '__proto__' ? undefined : value));
      assert.deepEqual(workflowInput({ content }), expected);
    }),
    { numRuns: sample({ normal: 200, long: 2_000 }) },
  );
});

test('content of more than 100 levels, or that is no JSON object, is text', () => {
  const levels = (count: number): string => `{"a":${'['.repeat(count - 1)}${']'.repeat(count - 1)}}`;
  assert.deepEqual(Object.keys(workflowInput({ content: levels(100) })), ['a']);
  for (const content of [levels(101), levels(100_000), '[1]', '{"a":', 'text', ''])
    assert.deepEqual(workflowInput({ content }), { content });
});
