import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkerThread } from '../../../runtime/kit/worker-thread.ts';

test('a question that cannot be posted is refused, and the next one gets its own answer', async (context) => {
  const thread = new WorkerThread<unknown, unknown>({
    from: import.meta,
    module: 'echo-worker',
    mostWaiting: 2,
    maxHeapMb: 32,
    lost: 'the thread has ended',
  });
  context.after(() => thread.close());
  assert.equal(await thread.ask('first'), 'first');
  for (let tries = 0; tries < 3; tries += 1) assert.throws(() => thread.ask(() => {}), { name: 'DataCloneError' });
  assert.equal(await thread.ask('second'), 'second');
});
