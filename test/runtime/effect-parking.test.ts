import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import type { RetryPolicy } from '../../runtime/define-actor.ts';
import { type EffectHandler, HandlerWaits } from '../../runtime/effect.ts';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import { ClaimRenewal, type EffectRunnerOptions, runnerSettings } from '../../runtime/effects/effect-runner-claim.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { SvcError } from '../../runtime/errors.ts';
import { MemoryEffectLedger } from '../support/memory-effect-ledger.ts';
import { aborted, effect, openEffect, resultOf, runnerOptions, until } from '../support/open-effect.ts';

const PLACES = 4;

interface Setup {
  readonly ledger: MemoryEffectLedger;
  readonly runner: EffectRunner;
  ask(kind: string, mode?: 'once', retry?: RetryPolicy): Promise<string>;
}

async function setup(
  handlers: readonly EffectHandler[],
  use: (setup: Setup) => Promise<void>,
  options: Partial<EffectRunnerOptions> = {},
): Promise<void> {
  const ledger = new MemoryEffectLedger();
  const onFault = (error: unknown): never => {
    throw error;
  };
  const queue = new EmbeddedEffectQueue({ ledger, clock: systemClock, onFault });
  await queue.open();
  const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers, concurrency: PLACES, ...options }));
  await runner.start();
  const ask: Setup['ask'] = async (kind, mode, retry) => {
    const asked = { ...(mode === undefined ? {} : { mode }), ...(retry === undefined ? {} : { retry }) };
    const job = await openEffect(ledger, { kind, ...asked });
    await queue.enqueue(job);
    return job.id;
  };
  try {
    await use({ ledger, runner, ask });
  } finally {
    await runner.stop();
    await queue.close();
  }
}

const parkedOn = (gate: Promise<unknown>): EffectHandler =>
  effect('wait', async (_input, { parked, signal }) => {
    await parked(Promise.race([gate, aborted(signal)]));
    return 'waited';
  });

describe('effects that wait without a place', () => {
  test('many more waiting effects than places keep no other effect from running, and all end', async () => {
    const gate = Promise.withResolvers<void>();
    const quick = effect('quick', async () => 'ran');
    await setup([parkedOn(gate.promise), quick], async ({ ledger, runner, ask }) => {
      const waiting = await Promise.all(Array.from({ length: 50 * PLACES }, () => ask('wait')));
      await until(() => runner.counts.parked === waiting.length, 'all to wait');
      assert.equal(runner.counts.running, 0);
      const id = await ask('quick');
      await until(() => resultOf(ledger, id), 'the other effect to run');
      gate.resolve();
      await until(() => waiting.every((one) => resultOf(ledger, one)), 'all to end');
      await until(() => runner.counts.parked + runner.counts.running === 0, 'none to be left');
    });
  });

  test('each change of the number of waiting effects is reported', async () => {
    const gate = Promise.withResolvers<void>();
    const counts: number[] = [];
    const use = async ({ ledger, ask }: Setup): Promise<void> => {
      const waiting = await Promise.all([ask('wait'), ask('wait')]);
      await until(() => counts.length === 2, 'both to wait');
      gate.resolve();
      await until(() => waiting.every((one) => resultOf(ledger, one)), 'both to end');
    };
    await setup([parkedOn(gate.promise)], use, { onParked: (count) => counts.push(count) });
    assert.deepEqual(counts, [1, 2, 1, 0]);
  });

  test('no more effects continue at a time than there are places', async () => {
    const gate = Promise.withResolvers<void>();
    let going = 0;
    let most = 0;
    const wait = effect('wait', async (_input, { parked }) => {
      await parked(gate.promise);
      most = Math.max(most, ++going);
      await new Promise((resolve) => setImmediate(resolve));
      going -= 1;
      return null;
    });
    await setup([wait], async ({ ledger, runner, ask }) => {
      const waiting = await Promise.all(Array.from({ length: 10 * PLACES }, () => ask('wait')));
      await until(() => runner.counts.parked === waiting.length, 'all to wait');
      gate.resolve();
      await until(() => waiting.every((one) => resultOf(ledger, one)), 'all to end');
      assert.equal(most, PLACES);
    });
  });

  test('an effect over the limit of waiting ones keeps its place instead', async () => {
    const gate = Promise.withResolvers<void>();
    await setup(
      [parkedOn(gate.promise)],
      async ({ ledger, runner, ask }) => {
        const waiting = await Promise.all(Array.from({ length: 6 }, () => ask('wait')));
        await until(() => runner.counts.parked === 5 && runner.counts.running === 1, 'five to wait and one to run');
        gate.resolve();
        await until(() => waiting.every((one) => resultOf(ledger, one)), 'all to end');
      },
      { mostParked: 5 },
    );
  });

  test('the claim of a waiting effect lasts many usual terms without as many renewals', async () => {
    const gate = Promise.withResolvers<void>();
    let kept = 0;
    await setup(
      [parkedOn(gate.promise)],
      async ({ ledger, runner, ask }) => {
        const keep = ledger.keepEffect.bind(ledger);
        ledger.keepEffect = (...args) => {
          kept += 1;
          return keep(...args);
        };
        const id = await ask('wait');
        await until(() => runner.counts.parked === 1, 'it to wait');
        const from = Date.now();
        await until(() => Date.now() - from > 300, 'five usual claims to be over');
        assert.equal(ledger.row(id)?.attempt, 1);
        assert.ok((ledger.row(id)?.until ?? 0) > Date.now(), 'still claimed');
        assert.ok(kept <= 2, `renewed ${kept} times`);
        gate.resolve();
        await until(() => resultOf(ledger, id), 'it to end');
      },
      { claimTtlMs: 60, renewEveryMs: 20, parkedClaimTtlMs: 10_000, parkedRenewEveryMs: 5_000 },
    );
  });

  test('claims of waiting effects are renewed at common moments, so that one call of the store renews many', async () => {
    const due: { readonly at: number; readonly call: () => void }[] = [];
    let nowMs = 0;
    const clock = {
      ...{ now: () => nowMs, monotonic: () => nowMs },
      after: (delayMs: number, call: () => void) => {
        due.push({ at: nowMs + delayMs, call });
        return () => {};
      },
    };
    const renewed: string[] = [];
    const ledger = new MemoryEffectLedger();
    ledger.keepEffect = async (_partition, id) => renewed.push(id) > 0;
    const queue = new EmbeddedEffectQueue({ ledger, clock, onFault: assert.fail });
    const settings = runnerSettings(runnerOptions({ store: ledger, queue, handlers: [], clock }));
    const renewals: { stop(): void }[] = [];
    for (const at of [1, 33.5, 99, 99]) {
      nowMs = at;
      const renewal = new ClaimRenewal(settings, await openEffect(ledger, { kind: 'wait' }), 1, false, assert.fail);
      renewal.slowDown();
      renewals.push(renewal);
      await until(() => renewed.length === renewals.length && due.some((one) => one.at > 20_000), 'its first renewal');
    }
    const later = due.filter(({ at }) => at > 20_000);
    assert.deepEqual(
      later.map(({ at }) => at),
      [20_100],
    );
    const first = renewed.splice(0);
    nowMs = 20_100;
    await until(() => true, 'the turns of all');
    renewals[3]?.stop();
    later[0]?.call();
    assert.deepEqual(renewed, first.slice(0, 3));
  });

  test('one whose attempt failed after its wait is queued again at once, though the queue had forgotten it', async () => {
    const once = Promise.withResolvers<void>();
    const flaky = effect('wait', async (_input, { parked, attempt }) => {
      if (attempt > 1) return 'second';
      await parked(once.promise);
      throw new SvcError('unavailable', 'not now');
    });
    await setup([flaky], async ({ ledger, runner, ask }) => {
      const id = await ask('wait', undefined, { maxAttempts: 2, initialDelayMs: 1, maxDelayMs: 1 });
      await until(() => runner.counts.parked === 1, 'it to wait');
      once.resolve();
      await until(() => resultOf(ledger, id), 'the second attempt');
      assert.deepEqual(resultOf(ledger, id)?.outcome, { kind: 'done', value: 'second' });
    });
  });

  test('a cancel reaches a waiting effect, and nothing of it is sent', async () => {
    await setup([parkedOn(new Promise(() => {}))], async ({ ledger, runner, ask }) => {
      const id = await ask('wait');
      await until(() => runner.counts.parked === 1, 'it to wait');
      await ledger.cancel(id);
      await until(() => runner.counts.parked + runner.counts.running === 0, 'it to stop');
      assert.equal(runner.counts.dropped, 1);
      assert.equal(resultOf(ledger, id), undefined);
    });
  });

  test('a node that stops gives back repeatable effects, and leaves the others in doubt', async () => {
    await setup([parkedOn(new Promise(() => {}))], async ({ ledger, runner, ask }) => {
      const again = await Promise.all(Array.from({ length: 3 * PLACES }, () => ask('wait')));
      const once = await ask('wait', 'once');
      await until(() => runner.counts.parked === again.length + 1, 'all to wait');
      await runner.stop();
      for (const id of again) assert.equal(ledger.row(id)?.status, 'open');
      assert.deepEqual(resultOf(ledger, once)?.outcome, { kind: 'in_doubt' });
    });
  });

  test('one that holds nothing while it waits runs again in the same attempt, with what its wait came to', async () => {
    const gate = Promise.withResolvers<boolean>();
    const runs: string[] = [];
    const wait = effect('wait', async (_input, { waitedFor, attempt, resumed }) => {
      runs.push(`attempt ${attempt}, ${resumed === undefined ? 'begins' : 'goes on'}`);
      return waitedFor(() => gate.promise) ? 'yes' : 'no';
    });
    await setup([wait], async ({ ledger, runner, ask }) => {
      const ids = [await ask('wait'), await ask('wait', 'once')];
      await until(() => runner.counts.parked === ids.length, 'both to wait');
      gate.resolve(true);
      for (const id of ids) {
        await until(() => resultOf(ledger, id), 'it to end');
        assert.deepEqual(resultOf(ledger, id)?.outcome, { kind: 'done', value: 'yes' });
      }
      assert.deepEqual(
        runs.toSorted(),
        Array.from({ length: 4 }, (_, at) => `attempt 1, ${at < 2 ? 'begins' : 'goes on'}`),
      );
      assert.equal(runner.counts.retried, 0);
    });
  });

  test('the error of such a wait reaches the handler, and a cancel ends the wait without another run', async () => {
    let runs = 0;
    const failing = effect('failing', async (_input, { waitedFor }) => {
      try {
        return waitedFor(() => Promise.reject(new SvcError('not_found', 'it is gone')));
      } catch (thrown) {
        if (thrown instanceof HandlerWaits) throw thrown;
        return 'the handler knows';
      }
    });
    const waiting = effect('waiting', async (_input, { waitedFor }) => {
      runs += 1;
      return waitedFor((signal) => aborted(signal).then(() => true));
    });
    await setup([failing, waiting], async ({ ledger, runner, ask }) => {
      const failed = await ask('failing');
      await until(() => resultOf(ledger, failed), 'it to end');
      assert.deepEqual(resultOf(ledger, failed)?.outcome, { kind: 'done', value: 'the handler knows' });
      const cancelled = await ask('waiting');
      await until(() => runner.counts.parked === 1, 'it to wait');
      await ledger.cancel(cancelled);
      await until(() => runner.counts.parked + runner.counts.running === 0, 'it to stop');
      assert.equal(runner.counts.dropped, 1);
      assert.equal(runs, 1);
    });
  });
});
