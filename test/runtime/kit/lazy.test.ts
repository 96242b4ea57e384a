import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Lazy } from '../../../runtime/kit/lazy.ts';

/** Each making ends when the test says how. */
function makings() {
  const begun: PromiseWithResolvers<string>[] = [];
  const value = new Lazy<string>(() => {
    const making = Promise.withResolvers<string>();
    begun.push(making);
    return making.promise;
  });
  return { value, begun };
}

describe('a value made at first use', () => {
  test('is not made before the first use, and closing does not make it', async () => {
    const { value, begun } = makings();
    assert.equal(await value.made(), null);
    assert.equal(begun.length, 0);
  });

  test('is made once for all callers, also while it is being made', async () => {
    const { value, begun } = makings();
    const asked = [value.get(), value.get(), value.made()];
    begun[0]?.resolve('it');
    assert.deepEqual(await Promise.all(asked), ['it', 'it', 'it']);
    assert.equal(await value.get(), 'it');
    assert.equal(begun.length, 1);
  });

  test('that could not be made is an error for each waiting caller, and the next caller retries', async () => {
    const { value, begun } = makings();
    const asked = await Promise.allSettled([
      value.get(),
      value.get(),
      value.made(),
      begun[0]?.reject(new Error('away')),
    ]);
    assert.deepEqual(
      asked.slice(0, 3).map((one) => (one.status === 'rejected' ? one.reason.message : one.value)),
      ['away', 'away', null],
    );
    assert.equal(await value.made(), null);
    const again = value.get();
    begun[1]?.resolve('it');
    assert.equal(await again, 'it');
    assert.equal(begun.length, 2);
  });

  test('is tried again after a maker that throws at once', async () => {
    let calls = 0;
    const value = new Lazy<number>(() => {
      calls += 1;
      if (calls === 1) throw new Error('at once');
      return Promise.resolve(calls);
    });
    await assert.rejects(value.get(), /at once/);
    assert.equal(await value.get(), 2);
  });
});
