import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Lease } from '../../runtime/actor-store.ts';
import { addressOf } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const fresh = (kind: string) => addressOf(kind, 'acme', randomUUID());

test('messages owed to other partitions are sent again when a flush failed', async () => {
  let flushes = 0;
  const node = await startKernelNode({
    definitions: [counter],
    store: (inner) => ({
      async commit(commit, readAhead) {
        const outcome = await inner.commit(commit, readAhead);
        return outcome.kind === 'committed' ? { ...outcome, owing: flushes < 2 ? ['default:0'] : [] } : outcome;
      },
      async flushOutbox(lease) {
        if (lease.log !== 'default:0') return false;
        flushes += 1;
        // The first is the one after taking the partition, the second that of the commit.
        if (flushes === 2) throw new SvcError('unavailable', 'not now');
        return false;
      },
    }),
  });
  try {
    await waitUntil('the flush after the lease', () => flushes === 1);
    await node.runtime.client.ask(fresh('counter'), 'Add', { by: 1 });
    await waitUntil('a flush after the failed one', () => flushes >= 3);
  } finally {
    await node.stop();
  }
});

test('timers of a partition taken again survive the end of the lost lease', async () => {
  const lost: Lease[] = [];
  let hold: Promise<void> | null = null;
  let held = false;
  let served: Lease | null = null;
  let grants = 0;
  const node = await startKernelNode({
    definitions: [counter],
    store: (inner) => ({
      async commit(commit, readAhead) {
        if (hold !== null) {
          held = true;
          served = commit.lease;
          await hold;
        }
        return inner.commit(commit, readAhead);
      },
      async acquire(partition, by, grant, ttlMs) {
        if (partition === 'default:0') grants += 1;
        return inner.acquire(partition, by, grant, ttlMs);
      },
      async renew(leases, ttlMs) {
        return [...(await inner.renew(leases, ttlMs)), ...lost.splice(0)];
      },
    }),
  });
  try {
    const late = fresh('counter');
    await node.runtime.client.ask(late, 'AddLater', { by: 1, afterMs: 1_000 });
    let release = (): void => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const answer = node.runtime.client.ask(fresh('counter'), 'Add', { by: 1 });
    await waitUntil('a commit to be under way', () => held);
    if (served !== null) lost.push(served);
    await waitUntil('the partition to be taken again', () => grants === 2);
    hold = null;
    release();
    assert.equal(await answer, 1, 'the message is handled under the new lease');
    await waitUntil('the timer', async () => (await node.runtime.client.events(late, 0, 1)).length === 1);
  } finally {
    await node.stop();
  }
});

test('effects left by the last holder run although the first read of them failed', async () => {
  let looks = 0;
  const probe = { begun: [], aborted: [] };
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect(probe)],
    store: (inner) => ({
      async openEffects(partition) {
        looks += partition === 'default:0' ? 1 : 0;
        if (looks === 1) throw new SvcError('unavailable', 'not now');
        return inner.openEffects(partition);
      },
    }),
  });
  try {
    await waitUntil('another look for effects', () => looks >= 2);
  } finally {
    await node.stop();
  }
});
