import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jsonSchemaFault } from '../../manifests/json-schema-check.ts';

describe('a JSON Schema in a manifest', () => {
  it('may name one of two drafts, with # behind it or not, and is valid under that draft', () => {
    for (const draft of ['http://json-schema.org/draft-07/schema', 'https://json-schema.org/draft/2020-12/schema']) {
      for (const $schema of [draft, `${draft}#`]) {
        assert.equal(jsonSchemaFault({ $schema, type: 'object' }), null, $schema);
        assert.match(jsonSchemaFault({ $schema, type: 'thing' }) ?? '', /^\/type /, $schema);
      }
    }
  });

  it('is refused when it names anything else, a member of all objects as well', () => {
    for (const $schema of ['draft-07', 'constructor', 'toString', '__proto__', '', 7, {}])
      assert.match(
        jsonSchemaFault({ type: 'object', $schema }) ?? '',
        /^\$schema must be one of http:/,
        String($schema),
      );
  });
});
