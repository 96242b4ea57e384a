import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { systemClock } from '../../runtime/clock.ts';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import type { EffectRunnerOptions, RunnerStore } from '../../runtime/effects/effect-runner-claim.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { MemoryEffectLedger } from '../support/memory-effect-ledger.ts';
import {
  aborted,
  effect,
  openEffect,
  PARTITION,
  progressOf,
  resultOf,
  runnerOptions,
  until,
} from '../support/open-effect.ts';

interface Setup {
  readonly ledger: MemoryEffectLedger;
  readonly queue: EmbeddedEffectQueue;
  readonly runner: EffectRunner;
  readonly faults: unknown[];
}

/** A runner over the embedded queue; `store` may stand between it and the ledger. */
async function setup(
  handlers: readonly EffectHandler[],
  use: (setup: Setup) => Promise<void>,
  options: Partial<EffectRunnerOptions> & { readonly between?: (ledger: MemoryEffectLedger) => RunnerStore } = {},
): Promise<void> {
  const ledger = new MemoryEffectLedger();
  const faults: unknown[] = [];
  const onFault = (error: unknown) => void faults.push(error);
  const queue = new EmbeddedEffectQueue({ ledger, clock: systemClock, onFault });
  await queue.open();
  const store = options.between?.(ledger) ?? ledger;
  const runner = new EffectRunner(runnerOptions({ store, queue, handlers, onFault, ...options }));
  await runner.start();
  try {
    await use({ ledger, queue, runner, faults });
  } finally {
    await runner.stop();
    await queue.close();
  }
}

/** Every call happens, and every second one is reported as unavailable all the same. */
function lossy(ledger: MemoryEffectLedger): RunnerStore {
  let calls = 0;
  const answer = async <T>(value: Promise<T>): Promise<T> => {
    const result = await value;
    if (++calls % 2 === 1) throw new SvcError('unavailable');
    return result;
  };
  return {
    keepEffect: (...args) => answer(ledger.keepEffect(...args)),
    progressEffect: (...args) => answer(ledger.progressEffect(...args)),
    settleEffect: (...args) => answer(ledger.settleEffect(...args)),
    reopenEffect: (...args) => answer(ledger.reopenEffect(...args)),
    onEffectCancelled: (stop) => ledger.onEffectCancelled(stop),
  };
}

describe('the effect runner', { timeout: 300_000 }, () => {
  test('with a store that writes and then reports failure, every effect runs exactly once', async () => {
    const flaky = effect('test.flaky', async (_, { progress, attempt }) => {
      await progress(`begin ${attempt}`);
      await progress(`end ${attempt}`);
      if (attempt === 1) throw new SvcError('unavailable');
      return attempt;
    });
    const use = async ({ ledger, queue }: Setup) => {
      const retry = { maxAttempts: 2, initialDelayMs: 1, maxDelayMs: 1 };
      const job = await openEffect(ledger, { kind: 'test.flaky', progressAs: 'Moved', retry });
      await queue.enqueue(job);
      await until(() => resultOf(ledger, job.id), 'the result');
      const said = progressOf(ledger, job.id).map((one) => one.value);
      assert.deepEqual(said, ['begin 1', 'end 1', 'begin 2', 'end 2']);
      assert.equal(ledger.sent.filter((one) => one.final).length, 1);
    };
    await setup([flaky], use, { between: lossy });
  });

  test('a queue that never says that it takes jobs, or that it has ended, keeps no node from stopping', async () => {
    const ledger = new MemoryEffectLedger();
    const never = new Promise<never>(() => {});
    for (const work of [() => never, async () => () => never, () => Promise.reject(new SvcError('unavailable'))]) {
      const queue = { work, claim: async () => ({ kind: 'gone' as const }), enqueue: async () => {} };
      const runner = new EffectRunner({
        ...runnerOptions({ store: ledger, queue, handlers: [], onFault: () => {} }),
        ...{ queues: [], stopGraceMs: 10, abortGraceMs: 10 },
      });
      await runner.start();
      const serving = runner.serve(['default']).catch(() => undefined);
      await Promise.race([serving, Promise.resolve()]);
      await runner.stop();
    }
  });

  for (const mode of ['once', 'repeatable'] as const) {
    test(`a ${mode} effect goes on while its claim cannot be renewed, and its result counts unless another runner took it`, async () => {
      let silent = false;
      let unheard = 0;
      const between = (ledger: MemoryEffectLedger): RunnerStore => {
        const answer = async <T>(call: () => Promise<T>): Promise<T> => {
          if (!silent) return call();
          unheard += 1;
          throw new SvcError('unavailable');
        };
        return {
          keepEffect: (...args) => answer(() => ledger.keepEffect(...args)),
          progressEffect: (...args) => answer(() => ledger.progressEffect(...args)),
          settleEffect: (...args) => answer(() => ledger.settleEffect(...args)),
          reopenEffect: (...args) => answer(() => ledger.reopenEffect(...args)),
          onEffectCancelled: () => () => {},
        };
      };
      const ends = Promise.withResolvers<null>();
      const slow = effect('test.slow', async (_, { signal, attempt }) => {
        silent = true;
        await Promise.race([ends.promise, aborted(signal)]);
        return attempt;
      });
      const use = async ({ ledger, queue }: Setup) => {
        const job = await openEffect(ledger, { kind: 'test.slow', mode });
        await queue.enqueue(job);
        await until(() => (ledger.row(job.id)?.until ?? Infinity) < Date.now() && unheard > 2, 'the claim to run out');
        ends.resolve(null);
        await until(() => unheard > 6, 'tries to report');
        silent = false;
        const result = await until(() => resultOf(ledger, job.id), 'the result');
        assert.deepEqual(result.outcome, { kind: 'done', value: 1 });
      };
      await setup([slow], use, { between, claimTtlMs: 200, renewEveryMs: 50 });
    });
  }

  test('a once claim of a missing runner that is not known to be dead is waited for; a repeatable one is not', async () => {
    const act = effect('test.act', async (_, { attempt }) => attempt);
    const ended = { known: false };
    const options = { isGone: async () => true, hasEnded: async () => ended.known, claimTtlMs: 100 };
    const use = async ({ ledger, queue }: Setup) => {
      const [again, once] = [
        await openEffect(ledger, { kind: 'test.act' }),
        await openEffect(ledger, { kind: 'test.act', mode: 'once' }),
      ];
      for (const job of [again, once]) await ledger.claimEffect(PARTITION, job.id, 'node-z/1', 60_000);
      for (const job of [again, once]) await queue.enqueue(job);
      assert.equal((await until(() => resultOf(ledger, again.id), 'the repeated one')).attempt, 2);
      assert.equal(ledger.row(once.id)?.runner, 'node-z/1');
      assert.equal(resultOf(ledger, once.id), undefined);
      ended.known = true;
      const result = await until(() => resultOf(ledger, once.id), 'the word that it is in doubt');
      assert.equal(result.outcome.kind, 'in_doubt');
    };
    await setup([act], use, options);
  });

  test('a runner never takes over its own claims, also when others consider it dead', async (t) => {
    const act = effect('test.act', async () => 'again');
    const isDead = async () => true;
    const use = async ({ ledger, queue, runner }: Setup) => {
      for (const mode of ['once', 'repeatable'] as const) {
        const job = await openEffect(ledger, { kind: 'test.act', mode });
        await ledger.claimEffect(PARTITION, job.id, runner.name, 60_000);
        const claims = t.mock.method(ledger, 'claimEffect');
        // As the sweep of a partition's new holder does.
        await queue.enqueue(job);
        await until(() => claims.mock.callCount() >= 3, 'the second and the third try');
        claims.mock.restore();
        assert.deepEqual([ledger.row(job.id)?.runner, ledger.row(job.id)?.attempt], [runner.name, 1]);
        assert.equal(resultOf(ledger, job.id), undefined);
      }
    };
    await setup([act], use, { isGone: isDead, hasEnded: isDead, claimTtlMs: 100 });
  });

  test('a lasting effect keeps its claim for longer than its node keeps its lease, from its start on', async () => {
    const ends = Promise.withResolvers<null>();
    const slow = { ...effect('test.slow', () => ends.promise), lasting: true };
    const use = async ({ ledger, queue }: Setup) => {
      const job = await openEffect(ledger, { kind: 'test.slow', mode: 'once' });
      await queue.enqueue(job);
      await until(() => (ledger.row(job.id)?.until ?? 0) > Date.now() + 5_000, 'the longer claim');
      ends.resolve(null);
      await until(() => resultOf(ledger, job.id), 'the result');
    };
    await setup([slow], use, { claimTtlMs: 1_000, renewEveryMs: 500, lastingClaimTtlMs: 30_000 });
  });

  test('an attempt that was taken over is stopped and its late result dropped', async () => {
    const reason = Promise.withResolvers<unknown>();
    const slow = effect('test.slow', async (_, { signal }) => {
      await aborted(signal).catch(reason.resolve);
      return 'late';
    });
    await setup([slow], async ({ ledger, queue, runner }) => {
      const job = await openEffect(ledger, { kind: 'test.slow' });
      await queue.enqueue(job);
      await until(() => runner.counts.running === 1, 'the attempt');
      // As after a freeze of this process: the claim ran out and another node has the effect.
      assert.equal(await ledger.reopenEffect(PARTITION, job.id, 1, 0), true);
      const taken = await ledger.claimEffect(PARTITION, job.id, 'node-b/1', 60_000);
      assert.equal(taken.kind, 'claimed');
      // Not `cancelled`: the other node goes on with what this attempt began.
      assert.equal(toSvcError(await reason.promise).code, 'lease_lost');
      await until(() => runner.counts.dropped === 1, 'the drop');
      assert.equal(resultOf(ledger, job.id), undefined);
      assert.equal(ledger.row(job.id)?.attempt, 2);
    });
  });

  for (const how of ['reports', 'learns that its claim is over'] as const) {
    test(`an effect that a store has open again runs again at once when its earlier attempt ${how}`, async () => {
      const first = Promise.withResolvers<number>();
      const slow = effect('test.slow', (_, { attempt, signal }) =>
        attempt === 1 ? Promise.race([first.promise, aborted(signal)]) : Promise.resolve(attempt),
      );
      const renewEveryMs = how === 'reports' ? 60_000 : 10;
      const use = async ({ ledger, queue, runner }: Setup) => {
        const job = await openEffect(ledger, { kind: 'test.slow' });
        await queue.enqueue(job);
        await until(() => runner.counts.running === 1, 'the attempt');
        // As a store that went back has it; the sweep of its partition hands over what this queue still runs.
        assert.equal(await ledger.reopenEffect(PARTITION, job.id, 1, 0), true);
        await queue.enqueue(job);
        if (how === 'reports') first.resolve(1);
        const result = await until(() => resultOf(ledger, job.id), 'the result of another attempt');
        assert.deepEqual([result.attempt, result.outcome], [2, { kind: 'done', value: 2 }]);
      };
      await setup([slow], use, { renewEveryMs });
    });
  }

  test('only a cancel tells the handler that its effect is no longer wanted; a stop of the node does not', async () => {
    for (const [end, code] of [
      ['cancel', 'cancelled'],
      ['stop', 'lease_lost'],
    ] as const) {
      const reason = Promise.withResolvers<unknown>();
      const slow = effect('test.slow', async (_, { signal }) => {
        await aborted(signal).catch(reason.resolve);
        return 'late';
      });
      await setup([slow], async ({ ledger, queue, runner }) => {
        const job = await openEffect(ledger, { kind: 'test.slow' });
        await queue.enqueue(job);
        await until(() => runner.counts.running === 1, 'the attempt');
        if (end === 'cancel') await ledger.cancel(job.id);
        else await runner.stop();
        assert.equal(toSvcError(await reason.promise).code, code);
      });
    }
  });

  test('an unknown kind and input that does not fit are failures that say so', async () => {
    const strict = defineEffect({
      kind: 'test.strict',
      input: z.object({ url: z.string(), n: z.number() }),
      run: async () => null,
    });
    const named = defineEffect({
      kind: 'test.named',
      input: z.object({ env: z.record(z.string().regex(/^[A-Z]+$/, 'expected capital letters'), z.string()) }),
      run: async () => null,
    });
    await setup([strict, named], async ({ ledger, queue }) => {
      const unknown = await openEffect(ledger, { kind: 'test.nobody' });
      const misfit = await openEffect(ledger, { kind: 'test.strict', input: { url: 'x' } });
      await queue.enqueue(unknown);
      await queue.enqueue(misfit);
      const first = (await until(() => resultOf(ledger, unknown.id), 'the failure')).outcome;
      assert.ok(first.kind === 'failed' && first.code === 'unimplemented' && first.message.includes('test.nobody'));
      const second = (await until(() => resultOf(ledger, misfit.id), 'the failure')).outcome;
      assert.ok(second.kind === 'failed' && second.code === 'invalid_argument' && second.message.includes('n:'));
      const badKey = await openEffect(ledger, { kind: 'test.named', input: { env: { a: 'x' } } });
      await queue.enqueue(badKey);
      const third = (await until(() => resultOf(ledger, badKey.id), 'the failure')).outcome;
      assert.ok(third.kind === 'failed' && third.message.endsWith('env.a: expected capital letters'));
    });
  });

  test('the message of a bug appears in the log only', async () => {
    const buggy = effect('test.bug', () => Promise.reject(new TypeError('token abc is undefined')));
    await setup([buggy], async ({ ledger, queue, faults }) => {
      const job = await openEffect(ledger, { kind: 'test.bug' });
      await queue.enqueue(job);
      const { outcome } = await until(() => resultOf(ledger, job.id), 'the failure');
      assert.deepEqual(outcome, {
        kind: 'failed',
        code: 'internal',
        message: 'An internal error occurred. The log of the node has the cause.',
      });
      assert.equal(faults.length, 1);
    });
  });

  test('a result that is too large becomes a failure instead of silence', async () => {
    const encode: EffectRunnerOptions['encode'] = (message) => {
      const body = JSON.stringify(message);
      if (body.length > 10_000) throw new SvcError('payload_too_large');
      return body;
    };
    const use = async ({ ledger, queue }: Setup) => {
      const job = await openEffect(ledger, { kind: 'test.big' });
      await queue.enqueue(job);
      const { outcome } = await until(() => resultOf(ledger, job.id), 'the failure');
      assert.equal(outcome.kind === 'failed' && outcome.code, 'payload_too_large');
    };
    await setup([effect('test.big', async () => 'x'.repeat(20_000))], use, { encode });
  });

  test('a handler that ignores its signal does not block the runner', async () => {
    const deaf = effect('test.deaf', () => new Promise<never>(() => {}));
    await setup([deaf], async ({ ledger, queue, faults, runner }) => {
      const job = await openEffect(ledger, { kind: 'test.deaf', timeoutMs: 50 });
      await queue.enqueue(job);
      const { outcome } = await until(() => resultOf(ledger, job.id), 'the time-out');
      assert.equal(outcome.kind === 'failed' && outcome.code, 'deadline_exceeded');
      assert.equal(faults.length, 1);
      await until(() => runner.counts.running === 0, 'its end');
    });
  });

  test('a once effect whose time ran out is not repeated though its policy allows retries', async () => {
    let runs = 0;
    const hang = effect('test.hang', (_, { signal }) => {
      runs += 1;
      return aborted(signal);
    });
    await setup([hang], async ({ ledger, queue }) => {
      const retry = { maxAttempts: 5, initialDelayMs: 1, maxDelayMs: 1 };
      const job = await openEffect(ledger, { kind: 'test.hang', mode: 'once', timeoutMs: 50, retry });
      await queue.enqueue(job);
      await until(() => resultOf(ledger, job.id), 'the time-out');
      assert.equal(runs, 1);
    });
  });

  test('the messages it sends carry cause and trace of the request', async () => {
    await setup([effect('test.ok', async () => 'ok')], async ({ ledger, queue }) => {
      const job = await openEffect(ledger, { kind: 'test.ok' });
      await queue.enqueue(job);
      const sent = await until(() => ledger.sent[0], 'the result');
      const { to, from, origin, type, trace, cause } = JSON.parse(sent.body);
      assert.deepEqual(
        { to, from, origin, type, trace },
        { to: job.address, from: null, origin: 'effect', type: 'Finished', trace: 'a'.repeat(32) },
      );
      assert.match(cause, /^[0-9a-f-]{36}$/);
    });
  });

  test('two handlers of one kind are refused', () => {
    const ok = effect('test.ok', async () => null);
    const store = new MemoryEffectLedger();
    const queue = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
    assert.throws(() => new EffectRunner(runnerOptions({ store, queue, handlers: [ok, ok] })), {
      code: 'invalid_config',
    });
  });
});
