import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jsonSchemaFault } from '../../manifests/json-schema-check.ts';
import { patternFault, patternSize } from '../../manifests/pattern.ts';
import { processorMs } from '../support/processor-time.ts';

describe('patterns', () => {
  it('are measured with their repetitions written out', () => {
    const sizes: readonly [string, number][] = [
      ['abc', 3],
      ['a{10}', 10],
      ['(ab){10}', 20],
      ['((a{10}){10}){10}', 1_000],
      ['[a-z\\]{5}]{3}', 3],
      ['\\p{Greek}{4}', 4],
      ['a{2,}b{3,7}', 9],
      ['a{,5}', 5],
      ['(a{3}', 3],
    ];
    for (const [pattern, size] of sizes) assert.equal(patternSize(pattern), size, pattern);
  });

  it('of ordinary use compile', () => {
    for (const pattern of ['^[0-9a-f]{64}$', '(?i)error: .{0,500}$', '\\d{1,3}(\\.\\d{1,3}){3}', '^\\s*\\{"a"'])
      assert.equal(patternFault(pattern), null, pattern);
  });

  it('that would take long to compile are refused at once, alone and together in a schema', () => {
    const tookMs = processorMs(() => {
      for (const pattern of ['a{1000}'.repeat(585), `(${'a'.repeat(900)}){1000}`, `((${'ab'.repeat(400)}){30}){30}`])
        assert.match(patternFault(pattern) ?? '', /more than 20000 elements/);
      const properties = Object.fromEntries(Array.from({ length: 4_000 }, (_, i) => [`k${i}`, { pattern: 'a{1000}' }]));
      assert.match(jsonSchemaFault({ properties }) ?? '', /patterns have more than 20000 elements together/);
      assert.match(jsonSchemaFault({ pattern: '['.repeat(500_000) }) ?? '', /more than 20000 elements/);
      assert.match(jsonSchemaFault({ patternProperties: { ['a{1000}'.repeat(30)]: {} } }) ?? '', /more than 20000/);
      assert.match(
        jsonSchemaFault({ patternProperties: { '(?=a)': {} } }) ?? '',
        /patternProperties is not RE2 syntax/,
      );
    });
    assert.ok(tookMs < 2_000, `${tookMs} ms`);
  });
});
