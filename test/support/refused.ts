import assert from 'node:assert/strict';
import type { ErrorCode } from '../../runtime/errors.ts';
import { SvcError } from '../../runtime/errors.ts';

/** Checks a thrown error, for `assert.rejects` and `assert.throws`: an `SvcError` of the code, and its message. */
export const refused =
  (code: ErrorCode, text?: RegExp | string) =>
  (thrown: unknown): true => {
    assert.ok(thrown instanceof SvcError, String(thrown));
    assert.equal(thrown.code, code, thrown.message);
    if (typeof text === 'string') assert.equal(thrown.message, text);
    else if (text !== undefined) assert.match(thrown.message, text);
    return true;
  };
