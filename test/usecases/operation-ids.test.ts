import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { OPERATIONS } from '../../usecases/operations.ts';

test('the id in the path of an operation is in lower case, as it is stored, whatever the caller wrote', () => {
  const given = 'A1B2C3D4-1111-4111-8111-ABCDEFABCDEF';
  const ids = OPERATIONS.flatMap(({ name, input: { params } }) => {
    const id = params instanceof z.ZodObject ? params.shape.id : undefined;
    // Names are ids as well in some paths.
    return id instanceof z.ZodType && !id.safeParse('name').success ? [{ name, id }] : [];
  });
  assert.ok(ids.length > 15);
  assert.deepEqual(
    ids.filter(({ id }) => id.safeParse(given).data !== given.toLowerCase()).map(({ name }) => name),
    [],
  );
});
