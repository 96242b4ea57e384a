import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { foundOrNull } from '../../../runtime/kit/found.ts';

test('a read that throws not_found has found null, and every other error is thrown', async () => {
  assert.equal(await foundOrNull(Promise.resolve(1)), 1);
  assert.equal(await foundOrNull(Promise.reject(new SvcError('not_found'))), null);
  await assert.rejects(foundOrNull(Promise.reject(new SvcError('unavailable'))), { code: 'unavailable' });
  await assert.rejects(foundOrNull(Promise.reject(new RangeError('no'))), RangeError);
});
