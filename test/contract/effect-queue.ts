import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { PartitionSweeps, sweepEffects } from '../../runtime/dispatch/partition-sweeps.ts';
import type { EffectHandler } from '../../runtime/effect.ts';
import type { EffectJob, EffectQueue } from '../../runtime/effect-queue.ts';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import type { EffectRunnerOptions } from '../../runtime/effects/effect-runner-claim.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { TestLedger } from '../support/memory-effect-ledger.ts';
import {
  aborted,
  effect,
  openEffect,
  PARTITION,
  progressOf,
  QUEUE,
  resultOf,
  runnerOptions,
  until,
} from '../support/open-effect.ts';
import { eachNth } from '../support/size.ts';

/** A node that will be killed: runs `test.hang`, which never ends by itself. */
export interface Victim {
  /** Ends it as kill -9 does: no claim is given back, and work under way stays as it is. */
  kill(): Promise<void>;
  /** Result that the dead attempt would report late if its node had only been frozen. */
  lateResult(effectId: string): Promise<void>;
}

export interface QueueAdapter {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Fresh effect records. */
  ledger(): Promise<TestLedger>;
  /** The queue as a fresh node sees it. */
  connect(ledger: TestLedger): Promise<EffectQueue>;
  victim(ledger: TestLedger, queue: EffectQueue): Promise<Victim>;
  /** The queue forgets all jobs, like its server after a flush. Absent: its jobs are only in the process. */
  loseJobs?(): Promise<void>;
}

const REPEAT = { maxAttempts: 3, initialDelayMs: 20, maxDelayMs: 100 };
/** The job of a dead node comes back after 6 s at the earliest, when nothing else brings it back. */
const SOONER_MS = 5_000;

/** The promises of every `EffectQueue`, tested through the runner (E1–E3); in a normal run every `nth` promise. */
export function effectQueueContract(adapter: QueueAdapter, nth = 1): void {
  describe(`effects on ${adapter.name}`, { timeout: 300_000 }, () => {
    const test = eachNth(nth);
    before(() => adapter.start());
    after(() => adapter.stop());

    async function setup(
      handlers: EffectHandler[],
      use: (setup: { ledger: TestLedger; queue: EffectQueue; runner: EffectRunner }) => Promise<void>,
      options: Partial<EffectRunnerOptions> = {},
    ): Promise<void> {
      const ledger = await adapter.ledger();
      const queue = await adapter.connect(ledger);
      const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers, ...options }));
      await runner.start();
      try {
        await use({ ledger, queue, runner });
      } finally {
        await runner.stop();
        await queue.close();
        await ledger.close();
      }
    }

    async function servedInTurn(flowOf: (name: 'noisy' | 'quiet') => readonly [tenant: string, agent: string]) {
      const begun: string[] = [];
      const slow = effect('test.slow', async ({ who }) => {
        begun.push(String(who));
        await new Promise((resolve) => setTimeout(resolve, 30));
        return null;
      });
      await setup([slow], async ({ ledger, queue }) => {
        const open = (who: 'noisy' | 'quiet') =>
          openEffect(ledger, { kind: 'test.slow', input: { who } }, ...flowOf(who));
        const noisy: EffectJob[] = [];
        for (let n = 0; n < 250; n += 1) noisy.push(await open('noisy'));
        await Promise.all(noisy.map((job) => queue.enqueue(job)));
        for (let n = 0; n < 5; n += 1) {
          const before = begun.length;
          const job = await open('quiet');
          await queue.enqueue(job);
          await until(() => resultOf(ledger, job.id), 'the quiet one’s result');
          const meanwhile = begun.slice(before).indexOf('quiet');
          assert.ok(meanwhile < 40, `${meanwhile} jobs of the noisy one were begun before it`);
          assert.ok(begun.length < 250, 'the noisy one still has jobs queued');
        }
        // For each by itself: on a slow machine they take more than a minute together.
        for (let known = begun.length; known < 255; known = begun.length)
          await until(() => begun.length > known, `the job after ${known} others`);
        assert.equal(begun.length, 255);
      });
    }

    test('the jobs of one tenant do not delay another tenant’s, however many are queued', () =>
      servedInTurn((name) => [name, 'agent']));

    test('the jobs of one agent do not delay another agent’s of its tenant, however many are queued', () =>
      servedInTurn((name) => ['acme', name]));

    test('an agent whose calls hang leaves a place to another agent of its tenant, and to another tenant', async () => {
      const hanging = Promise.withResolvers<null>();
      let running = 0;
      const call = effect('test.call', async ({ hangs }) => {
        if (hangs !== true) return 'ok';
        running += 1;
        return hanging.promise;
      });
      await setup(
        [call],
        async ({ ledger, queue, runner }) => {
          const asked = { kind: 'test.call', input: { hangs: true } };
          const hung = await Promise.all(Array.from({ length: 64 }, () => openEffect(ledger, asked, 'acme', 'hung')));
          for (const job of hung) await queue.enqueue(job);
          await until(() => running >= 16, 'most places to hang');
          const newcomers = [
            await openEffect(ledger, { kind: 'test.call' }, 'acme', 'newcomer'),
            await openEffect(ledger, { kind: 'test.call' }, 'other', 'newcomer'),
          ];
          for (const job of newcomers) await queue.enqueue(job);
          for (const job of newcomers) await until(() => resultOf(ledger, job.id), 'the newcomer’s result');
          assert.ok(runner.counts.running >= 16, 'the calls of the other agent still hang');
          hanging.resolve(null);
          await until(() => hung.every(({ id }) => resultOf(ledger, id)), 'the hung calls');
        },
        { concurrency: 32 },
      );
    });

    test('the fairness key of an effect outlives its claim and its job', async () => {
      await setup([], async ({ ledger }) => {
        const job = await openEffect(ledger, { kind: 'test.ok' }, 'acme', 'agent-7');
        const key = async () => (await ledger.openEffects(PARTITION)).find(({ id }) => id === job.id)?.fairnessKey;
        assert.equal(await key(), 'agent-7');
        const claimId = 'c0000000-0000-4000-8000-000000000001';
        assert.equal((await ledger.claimEffect(PARTITION, job.id, 'n/1', 1_000, '', claimId)).kind, 'claimed');
        assert.equal((await ledger.claimEffect(PARTITION, job.id, 'n/1', 1_000, '', claimId)).kind, 'claimed');
        assert.equal(await key(), 'agent-7');
        assert.equal(await ledger.reopenEffect(PARTITION, job.id, 1, 0, 'n/1'), true);
        assert.equal(await key(), 'agent-7');
      });
    });

    test('a queued effect runs and its result comes back with context and progress in order', async () => {
      const echo = effect('test.echo', async (input, { progress }) => {
        void progress('one');
        assert.equal(await progress('two'), true);
        return { got: input.text ?? null };
      });
      await setup([echo], async ({ ledger, queue }) => {
        const asked = { kind: 'test.echo', input: { text: 'hi' }, progressAs: 'Moved', context: { n: 1 } };
        const job = await openEffect(ledger, asked);
        await queue.enqueue(job);
        const result = await until(() => resultOf(ledger, job.id), 'the result');
        assert.deepEqual(result.outcome, { kind: 'done', value: { got: 'hi' } });
        assert.deepEqual(result.context, { n: 1 });
        assert.deepEqual(
          progressOf(ledger, job.id).map((one) => one.value),
          ['one', 'two'],
        );
        await until(() => ledger.row(job.id) === undefined, 'the end of its record');
      });
    });

    test('an effect queued many times runs once at a time, and once in all', async () => {
      let now = 0;
      let most = 0;
      let runs = 0;
      const release = Promise.withResolvers<void>();
      const count = effect('test.count', async () => {
        runs += 1;
        now += 1;
        most = Math.max(most, now);
        await release.promise;
        now -= 1;
        return null;
      });
      await setup([count], async ({ ledger, queue }) => {
        const job = await openEffect(ledger, { kind: 'test.count' });
        await Promise.all(Array.from({ length: 5 }, () => queue.enqueue(job)));
        await until(() => runs === 1, 'the first run');
        await Promise.all(Array.from({ length: 5 }, () => queue.enqueue(job)));
        release.resolve();
        await until(() => resultOf(ledger, job.id), 'the result');
        await queue.enqueue(job);
        const marker = await openEffect(ledger, { kind: 'test.count' });
        await queue.enqueue(marker);
        await until(() => resultOf(ledger, marker.id), 'an effect behind it');
        assert.deepEqual({ most, runs }, { most: 1, runs: 2 });
      });
    });

    test('jobs of a queue start in order and no more than the concurrency run at a time', async () => {
      const order: unknown[] = [];
      let now = 0;
      let most = 0;
      const gate = Promise.withResolvers<void>();
      const step = effect('test.step', async ({ n }) => {
        order.push(n);
        most = Math.max(most, ++now);
        await gate.promise;
        now -= 1;
        return null;
      });
      const use = async ({ ledger, queue }: { ledger: TestLedger; queue: EffectQueue }) => {
        const open = (_: unknown, n: number) => openEffect(ledger, { kind: 'test.step', input: { n } });
        const jobs = await Promise.all(Array.from({ length: 6 }, open));
        for (const job of jobs) await queue.enqueue(job);
        await until(() => order.length === 2, 'two running effects');
        gate.resolve();
        await until(() => jobs.every((job) => resultOf(ledger, job.id)), 'all results');
        assert.equal(most, 2);
        assert.deepEqual(order, [0, 1, 2, 3, 4, 5]);
      };
      await setup([step], use, { concurrency: 2 });
    });

    test('a delayed effect does not run before its time', async () => {
      await setup([effect('test.now', async () => Date.now())], async ({ ledger, queue }) => {
        const job = await openEffect(ledger, { kind: 'test.now' });
        const asked = Date.now();
        await queue.enqueue(job, 300);
        const { outcome } = await until(() => resultOf(ledger, job.id), 'the result');
        assert.ok(outcome.kind === 'done' && typeof outcome.value === 'number' && outcome.value - asked >= 295);
      });
    });

    test('a job that came too early is brought back when its effect may be claimed', async () => {
      await setup([effect('test.ok', async () => 'ok')], async ({ ledger, queue }) => {
        const job = await openEffect(ledger, { kind: 'test.ok' });
        const claim = await ledger.claimEffect(PARTITION, job.id, 'node-z/1', 300);
        assert.equal(claim.kind, 'claimed');
        await queue.enqueue(job);
        const result = await until(() => resultOf(ledger, job.id), 'the result after the claim ran out');
        assert.equal(result.attempt, 2);
      });
    });

    test('a retryable failure is tried again with backoff, then reported', async () => {
      const attempts: number[] = [];
      const flaky = effect('test.flaky', async ({ good }, { attempt }) => {
        attempts.push(attempt);
        if (attempt < Number(good)) throw new SvcError('unavailable', 'the provider is down');
        return attempt;
      });
      await setup([flaky], async ({ ledger, queue }) => {
        const heals = await openEffect(ledger, { kind: 'test.flaky', input: { good: 3 }, retry: REPEAT });
        await queue.enqueue(heals);
        const healed = await until(() => resultOf(ledger, heals.id), 'the third attempt');
        assert.deepEqual(healed.outcome, { kind: 'done', value: 3 });
        assert.deepEqual(attempts.splice(0), [1, 2, 3]);

        const fails = await openEffect(ledger, { kind: 'test.flaky', input: { good: 9 }, retry: REPEAT });
        await queue.enqueue(fails);
        const failed = await until(() => resultOf(ledger, fails.id), 'the failure');
        assert.deepEqual(failed.outcome, { kind: 'failed', code: 'unavailable', message: 'the provider is down' });
        assert.deepEqual(attempts, [1, 2, 3]);
      });
    });

    test('a wait that the called service asked for is respected', async () => {
      const times: number[] = [];
      const limited = effect('test.limited', async () => {
        times.push(Date.now());
        if (times.length === 1) throw new SvcError('rate_limited', 'slow down', { retryAfterMs: 400 });
        return null;
      });
      await setup([limited], async ({ ledger, queue }) => {
        const job = await openEffect(ledger, { kind: 'test.limited', retry: REPEAT });
        await queue.enqueue(job);
        await until(() => resultOf(ledger, job.id), 'the second attempt');
        assert.ok(Number(times[1]) - Number(times[0]) >= 390, `waited ${Number(times[1]) - Number(times[0])} ms`);
      });
    });

    test('an effect beyond its deadline is aborted and reported', async () => {
      await setup([effect('test.hang', (_, { signal }) => aborted(signal))], async ({ ledger, queue }) => {
        const job = await openEffect(ledger, { kind: 'test.hang', timeoutMs: 100 });
        await queue.enqueue(job);
        const { outcome } = await until(() => resultOf(ledger, job.id), 'the time-out');
        assert.equal(outcome.kind === 'failed' && outcome.code, 'deadline_exceeded');
      });
    });

    for (const silently of [false, true]) {
      test(`a cancel reaches the running handler${silently ? ' though its callback was lost' : ''}`, async () => {
        let running = false;
        const hang = effect('test.hang', async (_, { signal }) => {
          running = true;
          return aborted(signal).finally(() => {
            running = false;
          });
        });
        await setup([hang], async ({ ledger, queue, runner }) => {
          const job = await openEffect(ledger, { kind: 'test.hang' });
          await queue.enqueue(job);
          await until(() => running, 'the handler');
          await ledger.cancel(job.id, silently);
          await until(() => !running && runner.counts.running === 0, 'the end of the handler');
          assert.equal(resultOf(ledger, job.id), undefined);
          assert.equal(runner.counts.dropped, 1);
        });
      });
    }

    test('stop gives repeatable work back at once and another node takes it', async () => {
      const ledger = await adapter.ledger();
      const hang = effect('test.move', (_, { signal, attempt }) =>
        attempt === 1 ? aborted(signal) : Promise.resolve(attempt),
      );
      const first = await adapter.connect(ledger);
      const leaving = new EffectRunner(runnerOptions({ store: ledger, queue: first, handlers: [hang] }));
      await leaving.start();
      const job = await openEffect(ledger, { kind: 'test.move' });
      await first.enqueue(job);
      await until(() => leaving.counts.running === 1, 'the first attempt');
      const asked = Date.now();
      await leaving.stop();
      assert.equal(leaving.counts.running, 0);
      await first.close();
      const second = await adapter.connect(ledger);
      const staying = new EffectRunner(
        runnerOptions({ store: ledger, queue: second, handlers: [hang], node: 'node-b' }),
      );
      await staying.start();
      await sweepEffects(ledger, second, PARTITION, { isLive: () => false });
      const result = await until(() => resultOf(ledger, job.id), 'the second attempt');
      assert.deepEqual(result.outcome, { kind: 'done', value: 2 });
      assert.ok(Date.now() - asked < SOONER_MS, 'no caller waited for a time-out');
      await staying.stop();
      await second.close();
      await ledger.close();
    });

    test('stop lets a once effect finish, and records one that does not as in doubt', async () => {
      const gate = Promise.withResolvers<void>();
      const quick = effect('test.quick', () => gate.promise.then(() => 'finished'));
      const slow = effect('test.slow', (_, { signal }) => aborted(signal));
      await setup([quick, slow], async ({ ledger, queue, runner }) => {
        const finishes = await openEffect(ledger, { kind: 'test.quick', mode: 'once' });
        const hangs = await openEffect(ledger, { kind: 'test.slow', mode: 'once' });
        await queue.enqueue(finishes);
        await queue.enqueue(hangs);
        await until(() => runner.counts.running === 2, 'both effects');
        const stopped = runner.stop();
        gate.resolve();
        await stopped;
        const finished = await until(() => resultOf(ledger, finishes.id), 'the finished one');
        assert.deepEqual(finished.outcome, { kind: 'done', value: 'finished' });
        const doubtful = await until(() => resultOf(ledger, hangs.id), 'the doubtful one');
        assert.deepEqual(doubtful.outcome, { kind: 'in_doubt' });
      });
    });

    if (adapter.loseJobs !== undefined) {
      test('effects whose jobs the queue lost run within a minute', async () => {
        const ledger = await adapter.ledger();
        const queue = await adapter.connect(ledger);
        const jobs = await Promise.all(Array.from({ length: 20 }, () => openEffect(ledger, { kind: 'test.ok' })));
        let laterMs = 0;
        const store = {
          openEffects: () => ledger.openEffects(PARTITION),
          now: async () => (await ledger.now()) + laterMs,
        };
        const lease = { log: PARTITION, node: 'node-a', epoch: 1, grant: 'grant' };
        const sweeps = new PartitionSweeps({
          ...{ store, queue, clock: systemClock },
          leaseOf: () => lease,
          isLive: () => true,
        });
        await sweeps.acquired(lease);
        await adapter.loseJobs?.();
        const ok = effect('test.ok', async () => 'ok');
        const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers: [ok] }));
        await runner.start();
        for (laterMs = 2_000; laterMs <= 60_000; laterMs += 2_000) await sweeps.sweep();
        await until(() => jobs.every(({ id }) => resultOf(ledger, id)), 'all results');
        await runner.stop();
        await queue.close();
        await ledger.close();
      });
    }

    test('a killed node: its repeatable effect runs again as attempt 2, and attempt 1 is dropped', async () => {
      const ledger = await adapter.ledger();
      const queue = await adapter.connect(ledger);
      const victim = await adapter.victim(ledger, queue);
      const job = await openEffect(ledger, { kind: 'test.hang' });
      await queue.enqueue(job);
      await until(() => ledger.row(job.id)?.status === 'started', 'the claim of the node to be killed');
      await victim.kill();
      const again = effect('test.hang', async (_, { attempt }) => attempt);
      const heir = await adapter.connect(ledger);
      const runner = new EffectRunner(runnerOptions({ store: ledger, queue: heir, handlers: [again], node: 'node-b' }));
      await runner.start();
      await sweepEffects(ledger, heir, PARTITION, { isLive: () => false });
      const result = await until(() => resultOf(ledger, job.id), 'the second attempt', 20_000);
      assert.deepEqual(result.outcome, { kind: 'done', value: 2 });
      await victim.lateResult(job.id);
      assert.equal(ledger.dropped.length, 1);
      assert.equal(ledger.sent.filter((one) => one.final).length, 1);
      await runner.stop();
      await heir.close();
      await queue.close();
      await ledger.close();
    });

    test('a killed node: its once effect is in doubt and never runs again', async () => {
      const ledger = await adapter.ledger();
      const queue = await adapter.connect(ledger);
      const victim = await adapter.victim(ledger, queue);
      const job = await openEffect(ledger, { kind: 'test.hang', mode: 'once' });
      await queue.enqueue(job);
      await until(() => ledger.row(job.id)?.status === 'started', 'the claim of the node to be killed');
      await victim.kill();
      let runs = 0;
      const again = effect('test.hang', async () => ++runs);
      const heir = await adapter.connect(ledger);
      const runner = new EffectRunner(runnerOptions({ store: ledger, queue: heir, handlers: [again], node: 'node-b' }));
      await runner.start();
      await sweepEffects(ledger, heir, PARTITION, { isLive: () => false });
      const result = await until(() => resultOf(ledger, job.id), 'the doubt', 20_000);
      assert.deepEqual(result.outcome, { kind: 'in_doubt' });
      assert.equal(runs, 0);
      await runner.stop();
      await heir.close();
      await queue.close();
      await ledger.close();
    });

    test('a claim that names a dead runner starts the next attempt; without that name the answer says who holds it', async () => {
      const ledger = await adapter.ledger();
      const queue = await adapter.connect(ledger);
      const job = await openEffect(ledger, { kind: 'test.ok' });
      assert.equal((await queue.claim(job, 'node-z/1', 60_000)).kind, 'claimed');
      const busy = await queue.claim(job, 'node-b/1', 60_000);
      assert.equal(busy.kind === 'busy' && busy.by, 'node-z/1');
      const taken = await queue.claim(job, 'node-b/1', 60_000, 'node-z/1');
      assert.equal(taken.kind === 'claimed' && taken.attempt, 2);
      await queue.close();
      await ledger.close();
    });

    test('a runner keeps a claim whose answers are lost: a once effect runs once and is not in doubt', async () => {
      let runs = 0;
      const act = effect('test.act', async () => {
        runs += 1;
        return runs;
      });
      await setup(
        [],
        async ({ ledger, queue }) => {
          let lost = 0;
          const losing: Pick<EffectQueue, 'work' | 'claim' | 'enqueue'> = {
            enqueue: (...args) => queue.enqueue(...args),
            work: (...args) => queue.work(...args),
            async claim(...args) {
              const outcome = await queue.claim(...args);
              lost += 1;
              if (lost <= 3) throw new SvcError('unavailable');
              return outcome;
            },
          };
          const runner = new EffectRunner(
            runnerOptions({ store: ledger, queue: losing, handlers: [act], node: 'node-l' }),
          );
          const job = await openEffect(ledger, { kind: 'test.act', mode: 'once' });
          await runner.start();
          await queue.enqueue(job);
          const result = await until(() => resultOf(ledger, job.id), 'the result');
          assert.deepEqual(result.outcome, { kind: 'done', value: 1 });
          assert.equal(result.attempt, 1);
          await runner.stop();
        },
        { queues: [] },
      );
    });

    test('the queue name of a pool may hold any character', async () => {
      await setup(
        [effect('test.ok', async () => 'ok')],
        async ({ ledger, queue }) => {
          const job = { ...(await openEffect(ledger, { kind: 'test.ok' })), queue: 'gpu:a100/{x} ü' };
          await queue.enqueue(job);
          await until(() => resultOf(ledger, job.id), 'the result');
        },
        { queues: [QUEUE, 'gpu:a100/{x} ü'] },
      );
    });
  });
}
