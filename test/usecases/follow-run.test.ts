import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import type { ActorEvent } from '../../runtime/client.ts';
import { SvcError } from '../../runtime/errors.ts';
import { runReads } from '../../usecases/runs/run-calls.ts';

const OPTIONS = { signal: new AbortController().signal, heartbeatMs: 1_000 };
const EVENTS: readonly ActorEvent[] = [1, 2].map((seq) => ({ seq, at: 0, name: 'done', payload: null }));

/** Calls on runs of which only `a` is there. */
function reads() {
  const counts = { found: 0, followed: 0, closed: 0 };
  const client = {
    events: async () => [],
    async *follow() {
      counts.followed += 1;
      try {
        yield* EVENTS;
      } finally {
        counts.closed += 1;
      }
    },
  };
  const executions = { get: async () => null, put: async () => true };
  const calls = runReads({ client, executions }, async (_viewer, id) => {
    counts.found += 1;
    if (id !== 'a') throw new SvcError('not_found');
    return { address: addressOf('execution', 'acme', id) };
  });
  return { counts, follow: (id: string) => calls.follow('acme', id, 0, OPTIONS)[Symbol.asyncIterator]() };
}

test('a run is looked for with the first call, and its events follow to their end', async () => {
  const { counts, follow } = reads();
  const events = follow('a');
  assert.equal(counts.found, 0);
  const seen = [await events.next(), await events.next(), await events.next(), await events.next()];
  assert.deepEqual(
    seen.map(({ done, value }) => (done === true ? 'end' : value?.seq)),
    [1, 2, 'end', 'end'],
  );
  assert.deepEqual(counts, { found: 1, followed: 1, closed: 1 });
});

test('a run that the viewer may not see fails the first call, and the next one ends', async () => {
  const events = reads().follow('b');
  await assert.rejects(events.next(), { code: 'not_found' });
  assert.equal((await events.next()).done, true);
});

test('a follower that is let go closes what it follows, and begins nothing when it had not begun', async () => {
  const begun = reads();
  const events = begun.follow('a');
  await events.next();
  await events.return?.();
  assert.equal((await events.next()).done, true);
  assert.equal(begun.counts.closed, 1);
  const early = reads();
  const waiting = early.follow('a');
  const first = waiting.next();
  await waiting.return?.();
  assert.equal((await first).done, true);
  assert.equal(early.counts.followed, 0);
});
