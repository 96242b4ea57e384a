import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { addressOf } from '../../runtime/address.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { type KernelParts, openKernels, PARTITIONS } from '../support/kernels.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';

const skip = serversMissing();
/** Subscriptions to the notifications that Redis publishes, which may be lost. */
const SUBSCRIPTIONS: readonly PropertyKey[] = ['onWake', 'onReply', 'onEvents', 'onSignal', 'onEffectCancelled'];

/** The store without any of its notifications. */
function withoutSignals<T extends ActorStore>(store: T): T {
  return new Proxy(store, {
    get(target, name) {
      if (SUBSCRIPTIONS.includes(name)) return () => () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

test('every published notification is lost: messages, answers, events and effects arrive later, and each arrives once', {
  skip,
  timeout: 300_000,
}, async () => {
  await using kernels = await openKernels();
  const handlers = [workEffect({ begun: [], aborted: [] })];
  const bend: KernelParts['bend'] = ({ store }) => ({ store: withoutSignals(store) });
  const parts = { definitions: [counter, job], handlers, bend };
  const [a, b] = [await kernels.start('silent-a', parts), await kernels.start('silent-b', parts)];
  await waitUntil(
    'both nodes hold a share',
    () =>
      [a, b].every(({ runtime }) => runtime.held().length > 0) &&
      a.runtime.held().length + b.runtime.held().length === PARTITIONS + 2,
  );
  const begun = performance.now();
  const counters = Array.from({ length: 30 }, () => addressOf('counter', 'acme', randomUUID()));
  for (let value = 1; value <= 3; value += 1) {
    const asks = counters.map((address, at) => (at % 2 === 0 ? a : b).runtime.client.ask(address, 'Add', { by: 1 }));
    assert.deepEqual(new Set(await Promise.all(asks)), new Set([value]));
  }
  console.log(`three rounds of asks took ${Math.round(performance.now() - begun)} ms`);
  const address = addressOf('job', 'acme', randomUUID());
  await a.runtime.client.ask(address, 'Run', { input: { parts: ['one', 'two'], value: 'ok' } });
  const names: string[] = [];
  const signal = AbortSignal.timeout(30_000);
  for await (const event of a.runtime.client.follow(address, 0, { signal, heartbeatMs: 1_000 }))
    if (event !== null) names.push(event.name);
  assert.deepEqual(names, ['started', 'part', 'part', 'ended']);
});
