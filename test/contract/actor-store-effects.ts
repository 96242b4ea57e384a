import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { EffectError, EffectMode, Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { at, eventually, type MakeStore, type StoreDriver, section } from './store-under-test.ts';

interface Setup {
  readonly partition: Partition;
  readonly lease: Lease;
  readonly to: Address;
  readonly id: string;
}

async function opened(driver: StoreDriver, mode: EffectMode = 'repeatable'): Promise<Setup> {
  const partition = await driver.partition();
  const lease = await driver.lease(partition);
  const to = driver.address();
  const id = randomUUID();
  await driver.mustCommit(lease, 0, 0, { effectsOpened: [{ id, queue: 'q', address: to, mode, body: `body ${id}` }] });
  return { partition, lease, to, id };
}

async function claimed(
  driver: StoreDriver,
  { partition, id }: Setup,
  runner = 'node-a/1',
  ttlMs = 60_000,
): Promise<number> {
  const outcome = await driver.store.claimEffect(partition, id, runner, ttlMs);
  if (outcome.kind !== 'claimed') assert.fail(`the claim was answered ${outcome.kind}`);
  assert.equal(outcome.body, `body ${id}`);
  return outcome.attempt;
}

export function effectContract(make: MakeStore): void {
  section('effects', make, (promise) => {
    promise('an opened effect is claimed by one runner; a second runner has to wait', async (driver) => {
      const set = await opened(driver);
      const [row] = await driver.store.openEffects(set.partition);
      assert.deepEqual([row?.status, row?.attempt, row?.runner], ['open', 0, '']);
      const other = await driver.another();
      const outcomes = await Promise.all([
        driver.store.claimEffect(set.partition, set.id, 'node-a/1', 60_000),
        other.claimEffect(set.partition, set.id, 'node-b/1', 60_000),
      ]);
      assert.deepEqual(outcomes.map((outcome) => outcome.kind).toSorted(), ['busy', 'claimed']);
      const busy = outcomes.find((outcome) => outcome.kind === 'busy');
      assert.ok(busy && busy.retryAfterMs > 0 && busy.retryAfterMs <= 60_000);
      const [started] = await driver.store.openEffects(set.partition);
      assert.deepEqual([started?.status, started?.attempt], ['started', 1]);
      assert.equal(started?.runner, outcomes[0]?.kind === 'claimed' ? 'node-a/1' : 'node-b/1');
      assert.equal(busy.by, started.runner);
      assert.ok(
        started && started.until > (await driver.store.now()),
        'a started effect has the time at which its claim expires',
      );
    });

    promise('an effect shows its request until it is settled', async (driver) => {
      const set = await opened(driver);
      const bodies = () => driver.store.effectBodies(set.partition, ['unknown', set.id]);
      assert.deepEqual(await bodies(), [null, `body ${set.id}`]);
      assert.deepEqual(await driver.store.effectBodies(set.partition, []), []);
      const rows = () => driver.store.effectRows(set.partition, ['unknown', set.id]);
      assert.deepEqual(await rows(), [null, (await driver.store.openEffects(set.partition))[0]]);
      assert.deepEqual(await driver.store.effectRows(set.partition, []), []);
      const attempt = await claimed(driver, set);
      assert.deepEqual(await bodies(), [null, `body ${set.id}`]);
      assert.equal(await driver.store.settleEffect(set.partition, set.id, attempt, driver.delivery(set.to)), true);
      assert.deepEqual(await bodies(), [null, null]);
      assert.deepEqual(await rows(), [null, null]);
    });

    promise('a claim survives a restart', async (driver) => {
      const set = await opened(driver);
      const attempt = await claimed(driver, set, 'node-b/1');
      await driver.reopen();
      assert.equal((await driver.store.claimEffect(set.partition, set.id, 'node-a/1', 1_000)).kind, 'busy');
      assert.equal(await driver.store.keepEffect(set.partition, set.id, attempt, 1_000), true);
    });

    promise('a result is appended and closes the effect, once', async (driver) => {
      const set = await opened(driver);
      const attempt = await claimed(driver, set);
      const settle = () => driver.store.settleEffect(set.partition, set.id, attempt, driver.delivery(set.to, 'result'));
      const answers = await Promise.all([settle(), settle()]);
      assert.deepEqual(answers.toSorted(), [false, true]);
      assert.deepEqual(await driver.bodies(set.lease), ['result']);
      assert.deepEqual(await driver.store.openEffects(set.partition), []);
      assert.deepEqual(await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 1_000), { kind: 'gone' });
      assert.equal(await driver.store.keepEffect(set.partition, set.id, attempt, 1_000), false);
      assert.equal(await driver.store.depth(set.partition, set.to), 0);
    });

    promise('intermediate results are appended in order while the effect runs', async (driver) => {
      const set = await opened(driver);
      const attempt = await claimed(driver, set);
      for (const chunk of ['one', 'two']) {
        assert.equal(
          await driver.store.progressEffect(set.partition, set.id, attempt, driver.delivery(set.to, chunk)),
          true,
        );
      }
      await driver.store.settleEffect(set.partition, set.id, attempt, driver.delivery(set.to, 'end'));
      assert.equal(
        await driver.store.progressEffect(set.partition, set.id, attempt, driver.delivery(set.to, 'late')),
        false,
      );
      assert.deepEqual(await driver.bodies(set.lease), ['one', 'two', 'end']);
    });

    promise('a repeatable effect whose claim ran out runs again; the stale attempt is dropped', async (driver) => {
      const set = await opened(driver);
      const stale = await claimed(driver, set, 'node-a/1', 40);
      await driver.elapse(45);
      const fresh = await claimed(driver, set, 'node-b/1');
      assert.equal(fresh, stale + 1);
      const { partition, id, to } = set;
      assert.equal(await driver.store.keepEffect(partition, id, stale, 1_000), false);
      assert.equal(await driver.store.progressEffect(partition, id, stale, driver.delivery(to, 'stale')), false);
      assert.equal(await driver.store.reopenEffect(partition, id, stale, 0), false);
      assert.equal(await driver.store.settleEffect(partition, id, stale, driver.delivery(to, 'stale')), false);
      assert.equal(await driver.store.settleEffect(partition, id, fresh, driver.delivery(to, 'fresh')), true);
      assert.deepEqual(await driver.bodies(set.lease), ['fresh']);
    });

    promise('a kept claim does not run out', async (driver) => {
      const set = await opened(driver);
      const attempt = await claimed(driver, set, 'node-a/1', 5_000);
      assert.equal(await driver.store.keepEffect(set.partition, set.id, attempt, 600_000), true);
      const outcome = await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 1_000);
      assert.ok(outcome.kind === 'busy' && outcome.retryAfterMs > 500_000);
    });

    promise('a once effect whose runner is gone is in doubt, never claimed again', async (driver) => {
      const set = await opened(driver, 'once');
      const stale = await claimed(driver, set, 'node-a/1', 40);
      await driver.elapse(45);
      const outcome = await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 10_000);
      if (outcome.kind !== 'in_doubt') assert.fail(`answered ${outcome.kind}`);
      assert.equal(outcome.body, `body ${set.id}`);
      assert.equal(outcome.attempt, stale, 'it is the attempt that had started');
      assert.deepEqual(
        await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 10_000),
        outcome,
        'a repeated call gets the same answer',
      );
      assert.notEqual((await driver.store.claimEffect(set.partition, set.id, 'node-c/1', 10_000)).kind, 'claimed');
      const settle = (attempt: number, body: string) =>
        driver.store.settleEffect(set.partition, set.id, attempt, driver.delivery(set.to, body));
      const answers = await Promise.all([settle(outcome.attempt, 'in doubt'), settle(stale, 'late')]);
      assert.equal(answers.filter(Boolean).length, 1);
      assert.equal((await driver.bodies(set.lease)).length, 1);
    });

    for (const mode of ['repeatable', 'once'] as const) {
      promise(`a ${mode} claim of the same node's earlier incarnation is expired at once`, async (driver) => {
        const set = await opened(driver, mode);
        await claimed(driver, set, 'node-a/first', 600_000);
        const same = await driver.store.claimEffect(set.partition, set.id, 'node-a/first', 1_000);
        assert.equal(same.kind, 'busy', 'its runner does not get it twice');
        assert.equal((await driver.store.claimEffect(set.partition, set.id, 'node-b/first', 1_000)).kind, 'busy');
        assert.equal((await driver.store.claimEffect(set.partition, set.id, 'node-a2/first', 1_000)).kind, 'busy');
        const outcome = await driver.store.claimEffect(set.partition, set.id, 'node-a/second', 60_000);
        assert.equal(outcome.kind, mode === 'once' ? 'in_doubt' : 'claimed');
      });
    }

    for (const mode of ['repeatable', 'once'] as const) {
      promise(
        `a ${mode} claim of a dead runner is expired for a runner that knows of the death, a claim of another is not`,
        async (driver) => {
          const set = await opened(driver, mode);
          const stale = await claimed(driver, set, 'node-a/1', 600_000);
          const claim = (runner: string, over?: string) =>
            driver.store.claimEffect(set.partition, set.id, runner, 60_000, over);
          for (const over of ['node-a/2', 'node-a', '', undefined]) {
            const refused = await claim('node-b/1', over);
            assert.ok(refused.kind === 'busy', `over ${over} it was ${refused.kind}`);
            assert.equal(refused.by, 'node-a/1');
          }
          const outcomes = await Promise.all([claim('node-b/1', 'node-a/1'), claim('node-c/1', 'node-a/1')]);
          const runs = outcomes.filter((outcome) => outcome.kind === 'claimed');
          assert.equal(runs.length, mode === 'once' ? 0 : 1);
          if (mode === 'once') assert.ok(outcomes.some((outcome) => outcome.kind === 'in_doubt'));
          for (const run of runs) assert.equal(run.attempt, stale + 1);
          if (mode === 'once') return;
          const late = driver.delivery(set.to, 'late');
          assert.equal(await driver.store.settleEffect(set.partition, set.id, stale, late), false);
          assert.equal(await driver.store.keepEffect(set.partition, set.id, stale, 1_000), false);
        },
      );
    }

    for (const mode of ['repeatable', 'once'] as const) {
      promise(
        `a repeated try of a ${mode} claim, late or twice, gets the same attempt; another try is refused`,
        async (driver) => {
          const set = await opened(driver, mode);
          const [mine, later] = [randomUUID(), randomUUID()];
          const claim = (runner: string, id?: string) =>
            driver.store.claimEffect(set.partition, set.id, runner, 60_000, undefined, id);
          const tries = await Promise.all([claim('node-a/1', mine), claim('node-a/1', mine), claim('node-a/1', mine)]);
          for (const outcome of tries)
            assert.deepEqual(outcome, { kind: 'claimed', attempt: 1, body: `body ${set.id}` });
          const refused = [claim('node-a/1', later), claim('node-a/1'), claim('node-b/1', mine)];
          for (const outcome of await Promise.all(refused)) assert.equal(outcome.kind, 'busy');
          await driver.reopen();
          assert.deepEqual(await claim('node-a/1', mine), tries[0], 'also after a restart of the store');
          assert.equal(await driver.store.keepEffect(set.partition, set.id, 1, 60_000), true);
        },
      );

      promise(`a ${mode} claim that is repeated after the end of its attempt starts nothing`, async (driver) => {
        const set = await opened(driver, mode);
        const [mine, others] = [randomUUID(), randomUUID()];
        const claim = (runner: string, id: string, ttlMs = 60_000) =>
          driver.store.claimEffect(set.partition, set.id, runner, ttlMs, undefined, id);
        await claim('node-a/1', mine);
        assert.equal(await driver.store.reopenEffect(set.partition, set.id, 1, 0), true);
        assert.equal((await claim('node-a/1', mine)).kind, 'busy', 'given back');
        const taken = await claim('node-b/1', others);
        assert.ok(taken.kind === 'claimed');
        assert.equal(taken.attempt, 2);
        assert.equal((await claim('node-a/1', mine)).kind, 'busy', 'another runner has it');
        assert.equal(await driver.store.keepEffect(set.partition, set.id, 2, 60_000), true);
        await driver.store.settleEffect(set.partition, set.id, 2, driver.delivery(set.to, 'result'));
        assert.equal((await claim('node-b/1', others)).kind, 'gone', 'settled');
        assert.deepEqual(await driver.bodies(set.lease), ['result']);
      });
    }

    promise('the runner of an effect in doubt may still report: the first to settle it counts', async (driver) => {
      const set = await opened(driver, 'once');
      const attempt = await claimed(driver, set, 'node-a/1', 40);
      await driver.elapse(45);
      assert.equal((await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 10_000)).kind, 'in_doubt');
      assert.equal(await driver.store.keepEffect(set.partition, set.id, attempt, 60_000), true);
      assert.equal((await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 10_000)).kind, 'busy');
      const done = driver.delivery(set.to, 'done');
      assert.equal(await driver.store.settleEffect(set.partition, set.id, attempt, done), true);
      assert.equal(
        await driver.store.settleEffect(set.partition, set.id, attempt, driver.delivery(set.to, 'doubt')),
        false,
      );
      assert.deepEqual(await driver.bodies(set.lease), ['done']);
    });

    promise(
      'a retry delay has no owner: every runner waits for it, also after the death of the last one',
      async (driver) => {
        const set = await opened(driver);
        const first = await claimed(driver, set);
        await driver.store.reopenEffect(set.partition, set.id, first, 600_000);
        for (const over of ['node-a/1', '']) {
          const outcome = await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 1_000, over);
          assert.ok(outcome.kind === 'busy');
          assert.equal(outcome.by, '');
        }
      },
    );

    promise('a reopened effect is claimed again after its delay, as the next attempt', async (driver) => {
      const set = await opened(driver, 'once');
      const first = await claimed(driver, set);
      assert.equal(await driver.store.reopenEffect(set.partition, set.id, first, 60), true);
      assert.equal(await driver.store.reopenEffect(set.partition, set.id, first, 60), false);
      const [row] = await driver.store.openEffects(set.partition);
      assert.equal(row?.status, 'open');
      const now = await driver.store.now();
      const outcome = await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 1_000);
      if (now < row.until - 30) {
        assert.ok(outcome.kind === 'busy' && outcome.retryAfterMs > 0 && outcome.retryAfterMs <= 60);
      }
      const late = driver.delivery(set.to, 'late');
      assert.equal(await driver.store.settleEffect(set.partition, set.id, first, late), false);
      if (outcome.kind === 'busy') {
        await driver.elapse(65);
        assert.equal(await claimed(driver, set, 'node-b/1'), first + 1);
      }
      assert.deepEqual(await driver.bodies(set.lease), []);
    });

    for (const fairnessKey of [undefined, 'agent-a'])
      promise(
        `why an attempt failed stays in the record to the next error, ${fairnessKey ? 'with' : 'without'} a fairness key`,
        async (driver) => {
          const partition = await driver.partition();
          const lease = await driver.lease(partition);
          const [id, address] = [randomUUID(), driver.address()];
          const effect = { id, queue: 'q', address, mode: 'repeatable', body: `body ${id}` } as const;
          await driver.mustCommit(lease, 0, 0, { effectsOpened: [fairnessKey ? { ...effect, fairnessKey } : effect] });
          const set = { partition, lease, to: address, id };
          const seen = async () => (await driver.store.openEffects(partition)).map((row) => row.lastError);
          assert.deepEqual(await seen(), [undefined]);
          const reopen = async (error?: EffectError) => {
            const attempt = await claimed(driver, set);
            assert.equal(await driver.store.reopenEffect(partition, id, attempt, 0, undefined, error), true);
          };
          await reopen({ code: 'unavailable', message: `the model answered\n503 ${'x'.repeat(1_000)}` });
          const [first] = await seen();
          assert.equal(first?.code, 'unavailable');
          assert.match(first.message, /^the model answered 503 x{200,300}$/);
          await claimed(driver, set);
          assert.deepEqual(await seen(), [first], 'the next attempt runs');
          assert.equal(await driver.store.reopenEffect(partition, id, 2, 0), true);
          assert.deepEqual(await seen(), [first], 'given back without an error');
          await reopen({ code: 'rate_limited', message: 'wait' });
          assert.deepEqual(await seen(), [{ code: 'rate_limited', message: 'wait' }]);
          const [row] = await driver.store.openEffects(partition);
          assert.equal(row?.fairnessKey, fairnessKey);
          assert.equal((await claimed(driver, set, 'node-b/1')) > 3, true);
        },
      );

    promise(
      'a cancelled effect is deleted, its late results are dropped, and its runner is notified',
      async (driver) => {
        const stopped: string[] = [];
        const unsubscribe = driver.store.onEffectCancelled((id) => stopped.push(id));
        await eventually('the cancel is called back', async () => {
          const set = await opened(driver);
          const attempt = await claimed(driver, set);
          await driver.mustCommit(set.lease, 0, 0, { effectsCancelled: [set.id, randomUUID()] });
          assert.equal(await driver.store.keepEffect(set.partition, set.id, attempt, 1_000), false);
          const { partition, id } = set;
          assert.equal(
            await driver.store.progressEffect(partition, id, attempt, driver.delivery(set.to, 'late')),
            false,
          );
          assert.equal(await driver.store.settleEffect(partition, id, attempt, driver.delivery(set.to, 'late')), false);
          assert.deepEqual(await driver.store.claimEffect(partition, id, 'node-b/1', 1_000), { kind: 'gone' });
          assert.deepEqual(await driver.bodies(set.lease), []);
          return stopped.includes(id);
        });
        unsubscribe();
      },
    );

    promise('an effect that was never opened does not exist', async (driver) => {
      const partition = await driver.partition();
      const id = randomUUID();
      assert.deepEqual(await driver.store.claimEffect(partition, id, 'node-a/1', 1_000), { kind: 'gone' });
      assert.equal(await driver.store.settleEffect(partition, id, 1, driver.delivery(driver.address())), false);
      assert.deepEqual(await driver.store.openEffects(partition), []);
    });

    promise('an unclaimed effect takes no result', async (driver) => {
      const set = await opened(driver);
      for (const attempt of [0, 1]) {
        const delivery = driver.delivery(set.to, 'early');
        assert.equal(await driver.store.settleEffect(set.partition, set.id, attempt, delivery), false);
      }
      assert.equal(at(await driver.store.openEffects(set.partition), 0).status, 'open');
    });
  });
}
