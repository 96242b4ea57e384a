import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../runtime/clock.ts';
import type { EffectHandler } from '../../runtime/effect.ts';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import type { EffectRunnerOptions } from '../../runtime/effects/effect-runner-claim.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { beforeActing, type OwnStore, SvcError, unreachableStore } from '../../runtime/errors.ts';
import { MemoryEffectLedger } from '../support/memory-effect-ledger.ts';
import { effect, openEffect, PARTITION, resultOf, runnerOptions, until } from '../support/open-effect.ts';

const RETRY = { maxAttempts: 2, initialDelayMs: 1, maxDelayMs: 1 };

/** A store that can be away. */
class Store {
  isAway = false;
  asked = 0;
  probed = 0;
  readonly name: OwnStore;

  constructor(name: OwnStore = 'documents') {
    this.name = name;
  }

  async ask(): Promise<void> {
    this.asked += 1;
    if (this.isAway) throw new SvcError('unavailable', 'the store did not answer', { store: this.name });
  }

  async probe(): Promise<void> {
    this.probed += 1;
    if (this.isAway) throw new Error('away');
  }
}

interface Setup {
  readonly ledger: MemoryEffectLedger;
  readonly queue: EmbeddedEffectQueue;
  readonly runner: EffectRunner;
  readonly outages: string[];
}

async function setup(
  handlers: readonly EffectHandler[],
  store: Store,
  use: (setup: Setup) => Promise<void>,
  options: Partial<EffectRunnerOptions> = {},
): Promise<void> {
  const ledger = new MemoryEffectLedger();
  const outages: string[] = [];
  const onFault = (error: unknown): void => assert.fail(`a fault: ${String(error)}`);
  const queue = new EmbeddedEffectQueue({ ledger, clock: systemClock, onFault });
  await queue.open();
  const probes = { [store.name]: () => store.probe() };
  const onOutage = (name: OwnStore, change: string): void => void outages.push(`${name} ${change}`);
  const runner = new EffectRunner(
    runnerOptions({ store: ledger, queue, handlers, onFault, probes, onOutage, ...options }),
  );
  await runner.start();
  try {
    await use({ ledger, queue, runner, outages });
  } finally {
    await runner.stop();
    await queue.close();
  }
}

describe('an effect whose store is away', { timeout: 300_000 }, () => {
  for (const mode of ['repeatable', 'once'] as const) {
    test(`an effect whose store is down waits in the same attempt, without its place, and ends as without the outage (${mode})`, async () => {
      const store = new Store();
      let acted = 0;
      const work = effect('test.work', async (_, { attempt }) => {
        await store.ask();
        acted += 1;
        return attempt;
      });
      const other = effect('test.other', async () => 'done');
      await setup(
        [work, other],
        store,
        async ({ ledger, queue, runner, outages }) => {
          store.isAway = true;
          const job = await openEffect(ledger, { kind: 'test.work', mode, retry: RETRY });
          await queue.enqueue(job);
          await until(() => store.probed > 3, 'probes');
          assert.equal(runner.counts.parked, 1);
          const beside = await openEffect(ledger, { kind: 'test.other' });
          await queue.enqueue(beside);
          await until(() => resultOf(ledger, beside.id), 'the effect that needs no store, though there is one place');
          assert.equal(store.asked, 1, 'the probe asks, the work does not');
          store.isAway = false;
          const result = await until(() => resultOf(ledger, job.id), 'the result');
          assert.deepEqual(result.outcome, { kind: 'done', value: 1 });
          assert.equal(acted, 1);
          assert.deepEqual(outages, ['documents began', 'documents ended']);
        },
        { concurrency: 1 },
      );
    });
  }

  test('an effect whose store is down waits longer than all its attempts would have lasted', async () => {
    const store = new Store('limits');
    store.isAway = true;
    const tries = 6;
    const work = effect('test.work', async (_, { attempt }) => {
      if (store.asked === tries) store.isAway = false;
      await store.ask();
      return attempt;
    });
    const use = async ({ ledger, queue }: Setup) => {
      const job = await openEffect(ledger, { kind: 'test.work', retry: RETRY });
      await queue.enqueue(job);
      const result = await until(() => resultOf(ledger, job.id), 'the result', 20_000);
      assert.deepEqual(result.outcome, { kind: 'done', value: 1 });
      assert.equal(store.asked, tries + 1, 'a store without a probe is asked by the work');
    };
    await setup([work], store, use, { probes: {} });
  });

  test('an outside service that is unavailable keeps its attempts', async () => {
    let asked = 0;
    const work = effect('test.work', async () => {
      asked += 1;
      throw new SvcError('unavailable', 'the engine does not answer');
    });
    await setup([work], new Store(), async ({ ledger, queue }) => {
      const job = await openEffect(ledger, { kind: 'test.work', retry: RETRY });
      await queue.enqueue(job);
      const result = await until(() => resultOf(ledger, job.id), 'the result');
      assert.equal(result.outcome.kind, 'failed');
      assert.equal(asked, RETRY.maxAttempts);
    });
  });

  test('an effect of mode once that did not say that its failures come before it acts is not run again', async () => {
    const store = new Store();
    store.isAway = true;
    let acted = 0;
    const work = effect('test.work', async () => {
      acted += 1;
      await store.ask();
      return null;
    });
    await setup([work], store, async ({ ledger, queue }) => {
      const job = await openEffect(ledger, { kind: 'test.work', mode: 'once' });
      await queue.enqueue(job);
      const result = await until(() => resultOf(ledger, job.id), 'the result');
      assert.equal(result.outcome.kind, 'failed');
      assert.equal(acted, 1);
    });
  });

  test('the result of a call is kept while its store is down: only the store is asked again', async () => {
    const store = new Store();
    store.isAway = true;
    let acted = 0;
    const work = effect('test.work', async (_, { retryWhileUnavailable }) => {
      acted += 1;
      await retryWhileUnavailable(() => store.ask());
      return acted;
    });
    for (const mode of ['repeatable', 'once'] as const) {
      acted = 0;
      store.isAway = true;
      await setup([work], store, async ({ ledger, queue, runner }) => {
        const job = await openEffect(ledger, { kind: 'test.work', mode });
        await queue.enqueue(job);
        await until(() => runner.counts.parked === 1, 'the wait');
        store.isAway = false;
        const result = await until(() => resultOf(ledger, job.id), 'the result');
        assert.deepEqual(result.outcome, { kind: 'done', value: 1 });
      });
    }
  });

  test('a cancel ends the wait for the store at once, and the effect does not begin', async () => {
    const store = new Store();
    store.isAway = true;
    let acted = 0;
    const work = effect('test.work', async () => {
      await store.ask();
      acted += 1;
      return null;
    });
    await setup([work], store, async ({ ledger, queue, runner }) => {
      const job = await openEffect(ledger, { kind: 'test.work', mode: 'once', retry: RETRY });
      await queue.enqueue(job);
      await until(() => runner.counts.parked === 1, 'the wait');
      await ledger.cancel(job.id);
      await until(() => runner.counts.dropped === 1, 'its end');
      store.isAway = false;
      assert.equal(acted, 0);
    });
  });

  test('a timeout during the wait reports the store as unavailable, not work that may have been done', async () => {
    const store = new Store();
    store.isAway = true;
    const work = effect('test.work', async () => {
      await store.ask();
      return null;
    });
    await setup([work], store, async ({ ledger, queue }) => {
      const retry = { ...RETRY, maxAttempts: 1 };
      const job = await openEffect(ledger, { kind: 'test.work', mode: 'once', retry, timeoutMs: 200 });
      await queue.enqueue(job);
      const { outcome } = await until(() => resultOf(ledger, job.id), 'the result');
      assert.ok(outcome.kind === 'failed');
      assert.equal(outcome.code, 'unavailable');
    });
  });

  test('a node that stops gives a waiting effect back, also one of mode once: it has not begun', async () => {
    const store = new Store();
    store.isAway = true;
    const work = effect('test.work', async () => {
      await store.ask();
      return null;
    });
    await setup([work], store, async ({ ledger, queue, runner }) => {
      const job = await openEffect(ledger, { kind: 'test.work', mode: 'once', retry: RETRY });
      await queue.enqueue(job);
      await until(() => runner.counts.parked === 1, 'the wait');
      await runner.stop();
      assert.equal(resultOf(ledger, job.id), undefined, 'it is not in doubt');
      const [row] = await ledger.openEffects(PARTITION);
      assert.equal(row?.status, 'open');
    });
  });

  test('a request that is stored separately is waited for with its claim kept: a once effect is not in doubt', async () => {
    const store = new Store('blobs');
    store.isAway = true;
    const work = effect('test.work', async (_, { attempt }) => attempt);
    const unpack = async (body: string): Promise<string> => {
      await store.ask();
      return body;
    };
    const use = async ({ ledger, queue }: Setup) => {
      const job = await openEffect(ledger, { kind: 'test.work', mode: 'once' });
      await queue.enqueue(job);
      const since = performance.now();
      await until(() => performance.now() - since > 1_000, 'longer than a claim lives');
      store.isAway = false;
      const result = await until(() => resultOf(ledger, job.id), 'the result');
      assert.deepEqual(result.outcome, { kind: 'done', value: 1 });
    };
    await setup([work], store, use, { unpack, claimTtlMs: 400, renewEveryMs: 100 });
  });

  test('five hundred waiting effects ask the store only when it is back, and all end', async () => {
    const store = new Store();
    store.isAway = true;
    const work = effect('test.work', async () => {
      await store.ask();
      return null;
    });
    await setup([work], store, async ({ ledger, queue, runner }) => {
      const jobs = await Promise.all(
        Array.from({ length: 500 }, () => openEffect(ledger, { kind: 'test.work', retry: RETRY })),
      );
      for (const job of jobs) await queue.enqueue(job);
      await until(() => runner.counts.parked === jobs.length, 'all wait');
      const { probed } = store;
      await until(() => store.probed > probed + 2, 'more probes');
      assert.equal(store.asked, jobs.length);
      store.isAway = false;
      await until(() => jobs.every(({ id }) => resultOf(ledger, id) !== undefined), 'all results', 20_000);
      assert.equal(store.asked, 2 * jobs.length);
    });
  });

  test('a store failure is recognised, wrapped or not, and only as a cause of failures that may pass', () => {
    const away = new SvcError('unavailable', undefined, { store: 'documents' });
    const retry = fc.constantFrom('unavailable', 'deadline_exceeded', 'lease_lost', 'model_unavailable');
    fc.assert(
      fc.property(fc.array(retry, { maxLength: 5 }), (codes) => {
        let error: SvcError = away;
        for (const code of codes) error = new SvcError(code, undefined, { cause: error });
        assert.equal(unreachableStore(error), 'documents');
        assert.equal(unreachableStore(new SvcError('internal', undefined, { cause: error })), null);
        assert.equal(unreachableStore(new SvcError('in_doubt', undefined, { cause: error })), null);
      }),
    );
    assert.equal(unreachableStore(new SvcError('unavailable')), null);
    assert.equal(unreachableStore(new Error('no')), null);
  });

  test('a check before the action says that nothing was begun; other failures stay as they are', async () => {
    const away = new SvcError('unavailable', undefined, { store: 'documents', retryAfterMs: 7 });
    await assert.rejects(beforeActing(Promise.reject(away)), { notBegun: true, store: 'documents', retryAfterMs: 7 });
    const missing = new SvcError('not_found');
    await assert.rejects(beforeActing(Promise.reject(missing)), missing);
  });
});
