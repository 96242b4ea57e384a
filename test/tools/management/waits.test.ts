import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../../runtime/clock.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { EndWait } from '../../../usecases/fields.ts';
import type { EndWaits } from '../../../usecases/management.ts';
import { createEndWaits } from '../../../usecases/waits/end-waits.ts';
import { waitUntil } from '../../support/wait-until.ts';

const TENANT = 'acme';

interface Setup {
  readonly waits: EndWaits;
  readonly ended: Set<string>;
  readonly subscribed: Map<string, () => void>;
  looks: number;
  failure: SvcError | null;
}

function setup(): Setup {
  const at: Omit<Setup, 'waits'> = { ended: new Set(), subscribed: new Map(), looks: 0, failure: null };
  const waits = createEndWaits({
    clock: systemClock,
    async hasEnded(_kind, _tenant, id) {
      at.looks += 1;
      if (at.failure !== null) throw at.failure;
      return at.ended.has(id);
    },
    onEvents(address, wake) {
      assert.ok(!at.subscribed.has(address), 'one subscription for each');
      at.subscribed.set(address, wake);
      return () => at.subscribed.delete(address);
    },
  });
  return Object.assign(at, { waits });
}

const asked = (more: Partial<EndWait> = {}): EndWait => ({
  ...{ timeoutMs: 20_000, lookAgainMs: 60_000, signal: new AbortController().signal },
  ...more,
});

const id = 'e1';
const address = `execution/${TENANT}/${id}`;

/** The kernel's timers keep no process alive. */
async function alive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 60_000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

describe('waiting for the end of an execution', () => {
  test('a thousand waiters share one subscription and one read, and one event ends their wait', async () => {
    const at = setup();
    const waiting = Array.from({ length: 1_000 }, () => at.waits.execution(TENANT, id, asked()));
    await waitUntil('the first look', async () => at.looks === 1);
    at.ended.add(id);
    at.subscribed.get(address)?.();
    assert.deepEqual(new Set(await alive(Promise.all(waiting))), new Set([true]));
    assert.equal(at.looks, 2);
    assert.equal(at.subscribed.size, 0);
  });

  test('an end whose notification was lost is found at the next poll of the waiter with the shortest interval', async () => {
    const at = setup();
    const patient = at.waits.execution(TENANT, id, asked());
    await waitUntil('the first look', async () => at.looks === 1);
    at.ended.add(id);
    const hasty = at.waits.execution(TENANT, id, asked({ lookAgainMs: 20 }));
    assert.deepEqual(await alive(Promise.all([patient, hasty])), [true, true]);
  });

  test('many events at once cause few reads', async () => {
    const at = setup();
    const waiting = at.waits.execution(TENANT, id, asked({ timeoutMs: 1_000 }));
    const timer = setInterval(() => at.subscribed.get(address)?.(), 1);
    assert.equal(await alive(waiting), false);
    clearInterval(timer);
    assert.ok(at.looks > 1 && at.looks < 40, `${at.looks} looks`);
  });

  test('a waiter that times out leaves the others waiting; the last one ends the subscription', async () => {
    const at = setup();
    const stop = new AbortController();
    const short = at.waits.execution(TENANT, id, asked({ timeoutMs: 10 }));
    const stopped = at.waits.execution(TENANT, id, asked({ signal: stop.signal }));
    assert.equal(await alive(short), false);
    assert.equal(at.subscribed.size, 1);
    stop.abort(new SvcError('cancelled'));
    await assert.rejects(stopped, { code: 'cancelled' });
    assert.equal(at.subscribed.size, 0);
  });

  test('an unknown id is reported to all waiters; an unavailable store to none', async () => {
    const at = setup();
    at.failure = new SvcError('unavailable');
    const waiting = at.waits.execution(TENANT, id, asked({ lookAgainMs: 10 }));
    await waitUntil('some looks', async () => at.looks > 2);
    at.failure = new SvcError('not_found', 'execution not found');
    await assert.rejects(alive(waiting), { code: 'not_found' });
    assert.equal(at.subscribed.size, 0);
  });

  test('executions of other tenants and workflows of the same id are waited for apart', async () => {
    const at = setup();
    const waiting = [
      at.waits.execution(TENANT, id, asked({ timeoutMs: 50 })),
      at.waits.execution('umbrella', id, asked({ timeoutMs: 50 })),
      at.waits.workflow(TENANT, id, asked({ timeoutMs: 50 })),
    ];
    assert.equal(at.subscribed.size, 3);
    await alive(Promise.all(waiting));
  });
});
