import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OneAtATime, OneAtATimePerKey } from '../../../runtime/kit/queues.ts';

/** Work that ends when the test says so, and what began so far. */
function slowWork() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const work = (name: string) => {
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return () => {
      begun.push(name);
      return end.promise;
    };
  };
  return { begun, work, end: (name: string) => ends.get(name)?.resolve(name), ends };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

describe('one at a time', () => {
  test('work begins when all before it have ended, also when they failed', async () => {
    const { begun, work, end, ends } = slowWork();
    const queue = new OneAtATime();
    const asked = ['a', 'b', 'c'].map((name) => queue.run(work(name)));
    const settled = Promise.allSettled(asked);
    await soon();
    assert.deepEqual(begun, ['a']);
    ends.get('a')?.reject(new Error('lost'));
    await soon();
    assert.deepEqual(begun, ['a', 'b']);
    end('b');
    end('c');
    assert.deepEqual(
      (await settled).map(({ status }) => status),
      ['rejected', 'fulfilled', 'fulfilled'],
    );
  });

  test('different keys do not wait for each other, and a key without work is forgotten', async () => {
    const { begun, work, end, ends } = slowWork();
    const queues = new OneAtATimePerKey();
    const settled = Promise.allSettled([
      queues.run('one', work('a')),
      queues.run('one', work('b')),
      queues.run('two', work('c')),
    ]);
    await soon();
    assert.deepEqual(begun, ['a', 'c']);
    assert.equal(queues.busy, 2);
    end('c');
    ends.get('a')?.reject(new Error('lost'));
    await soon();
    assert.deepEqual(begun, ['a', 'c', 'b']);
    assert.equal(queues.busy, 1);
    end('b');
    await settled;
    await soon();
    assert.equal(queues.busy, 0);
  });
});
