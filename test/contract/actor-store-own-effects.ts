import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { EffectMode, EffectOpen, Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { MOST_BESIDE } from '../../runtime/leases.ts';
import { at, commitOf, eventually, type MakeStore, type StoreDriver, section } from './store-under-test.ts';

interface Setup {
  readonly partition: Partition;
  readonly lease: Lease<Partition>;
  readonly to: Address;
  readonly id: string;
  readonly attempt: number;
}

const RUNNER = 'node-a/1';

/** An effect opened by a commit that starts it. */
async function started(driver: StoreDriver, mode: EffectMode = 'once', ttlMs = 60_000): Promise<Setup> {
  const partition = await driver.partition();
  const lease = await driver.lease(partition);
  const to = driver.address();
  const id = randomUUID();
  const effect = { id, queue: 'q', address: to, mode, body: 'request', started: { runner: RUNNER, ttlMs } };
  await driver.mustCommit(lease, 0, 0, { effectsOpened: [effect] });
  return { partition, lease, to, id, attempt: 1 };
}

const openedAs = ({ to }: Setup, id: string): EffectOpen => ({
  ...{ id, queue: 'q', address: to, mode: 'once', body: 'request' },
  started: { runner: RUNNER, ttlMs: 60_000 },
});

/** One more effect of that actor; returns its id. */
async function another(driver: StoreDriver, setup: Setup): Promise<string> {
  const id = randomUUID();
  await driver.mustCommit(setup.lease, 0, 0, { effectsOpened: [openedAs(setup, id)] });
  return id;
}

/**
 * Effects that run in the process that commits them: started by the commit, ended by the commit of the turn that
 * handles their result.
 */
export function ownEffectContract(make: MakeStore): void {
  section('effects that run where they were committed', make, (promise) => {
    promise('an effect started by its commit is its runner’s, as if it had been claimed', async (driver) => {
      const set = await started(driver, 'repeatable');
      const [row] = await driver.store.openEffects(set.partition);
      assert.deepEqual([row?.status, row?.attempt, row?.runner, row?.mode], ['started', 1, RUNNER, 'repeatable']);
      assert.ok(row && row.until > (await driver.store.now()), 'its claim expires at some time');
      const claim = await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 1_000);
      assert.ok(claim.kind === 'busy' && claim.by === RUNNER);
      assert.equal(await driver.store.keepEffect(set.partition, set.id, 1, 60_000), true);
      assert.equal(await driver.store.settleEffect(set.partition, set.id, 1, driver.delivery(set.to, 'result')), true);
      assert.deepEqual(await driver.bodies(set.lease), ['result']);
    });

    promise('a once effect started by its commit is in doubt when its runner is gone', async (driver) => {
      const set = await started(driver);
      const claim = await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 60_000, RUNNER);
      assert.ok(claim.kind === 'in_doubt' && claim.body === 'request');
      const next = await started(driver, 'once', 40);
      await driver.elapse(45);
      assert.equal((await driver.store.claimEffect(next.partition, next.id, 'node-b/1', 60_000)).kind, 'in_doubt');
    });

    promise('a once effect that its runner gives back is claimed anew, and only its runner can', async (driver) => {
      const set = await started(driver);
      assert.equal(await driver.store.reopenEffect(set.partition, set.id, 1, 0, 'node-b/1'), false);
      assert.equal(await driver.store.reopenEffect(set.partition, set.id, 1, 0, RUNNER), true);
      assert.equal(await driver.store.reopenEffect(set.partition, set.id, 1, 0, RUNNER), false);
      const claim = await driver.store.claimEffect(set.partition, set.id, 'node-b/1', 60_000);
      assert.deepEqual([claim.kind, claim.kind === 'claimed' && claim.attempt], ['claimed', 2]);
    });

    promise('a fenced commit starts no effect', async (driver) => {
      const partition = await driver.partition();
      const stale = await driver.lease(partition);
      await driver.store.release(stale);
      await driver.lease(partition, 'node-b');
      const to = driver.address();
      const given = { id: randomUUID(), queue: 'q', address: to, mode: 'once' as const, body: 'request' };
      const change = { effectsOpened: [{ ...given, started: { runner: RUNNER, ttlMs: 1_000 } }] };
      assert.equal((await driver.commit(stale, 0, 0, change)).kind, 'fenced');
      assert.deepEqual(await driver.store.openEffects(partition), []);
    });

    promise(
      'a result that a commit handled is in its journal row, in no mailbox, and ends its effect, once',
      async (driver) => {
        const set = await started(driver);
        const change = { settles: [set], beside: 0, journal: 'row', records: [{ address: set.to, record: 'after' }] };
        const commit = commitOf(set.lease, 0, 0, change);
        const first = await driver.store.commit(commit, 10);
        assert.ok(first.kind === 'committed');
        assert.deepEqual([first.beside, first.next], [1, []]);
        const again = await driver.store.commit(commit, 10);
        if (again.kind === 'committed') assert.deepEqual([again.at, again.beside], [first.at, 1]);
        assert.deepEqual(await driver.store.readJournal(set.partition, 0, 10), [
          { upTo: 0.0001, row: 'row', entries: [] },
        ]);
        assert.deepEqual(await driver.store.load(set.partition, [set.to]), ['after']);
        assert.deepEqual(await driver.store.openEffects(set.partition), []);
        const { cursor, tail } = await driver.store.backlog(set.partition);
        assert.deepEqual([cursor, tail], [0, 0]);
        assert.equal(
          await driver.store.settleEffect(set.partition, set.id, 1, driver.delivery(set.to, 'result')),
          false,
        );
        assert.deepEqual(await driver.bodies(set.lease), [], 'sent again it is dropped');
        await driver.append(set.partition, set.to, 'next');
        const next = await driver.mustCommit(set.lease, 0, 1, { beside: 1, journal: 'next' });
        assert.equal(next.beside, 0, 'no result was handled at this cursor');
        const rows = await driver.store.readJournal(set.partition, 0, 10);
        assert.deepEqual(
          rows.map(({ upTo, entries }) => [upTo, entries.map(({ body }) => body)]),
          [
            [0.0001, []],
            [1, ['next']],
          ],
        );
      },
    );

    promise('messages in the mailbox may stay there, or be handled by the same commit', async (driver) => {
      const set = await started(driver);
      const other = { ...set, id: await another(driver, set) };
      await driver.append(set.partition, set.to, 'earlier', 'later');
      const first = await driver.mustCommit(set.lease, 0, 0, { settles: [set], journal: 'row' }, 10);
      assert.deepEqual(
        first.next.map(({ body }) => body),
        ['earlier', 'later'],
      );
      const second = await driver.mustCommit(set.lease, 0, 1, { settles: [other], beside: 1, journal: 'both' }, 10);
      assert.deepEqual([second.beside, second.next.map(({ body }) => body)], [1, ['later']]);
      const rows = await driver.store.readJournal(set.partition, 0, 10);
      assert.deepEqual(
        rows.map(({ upTo, row, entries }) => [upTo, row, entries.map(({ body }) => body)]),
        [
          [0.0001, 'row', []],
          [1.0001, 'both', ['earlier']],
        ],
      );
      await driver.mustCommit(set.lease, 1, 2, { beside: 1 });
    });

    promise('results of effects that a commit need not open are counted with it', async (driver) => {
      const set = await started(driver);
      await driver.append(set.partition, set.to, 'asks');
      const first = await driver.mustCommit(set.lease, 0, 1, { results: 3, journal: 'row' });
      const second = await driver.mustCommit(set.lease, 1, 1, {
        settles: [set],
        results: 2,
        beside: 3,
        journal: 'next',
      });
      assert.deepEqual([first.beside, second.beside], [3, 5]);
      const rows = await driver.store.readJournal(set.partition, 0, 10);
      assert.deepEqual(
        rows.map(({ upTo, entries }) => [upTo, entries.length]),
        [
          [1.0003, 1],
          [1.0005, 0],
        ],
      );
    });

    promise('rows of one cursor have positions of their own: read behind each, trimmed up to each', async (driver) => {
      const set = await started(driver);
      const ids = [set.id, await another(driver, set), await another(driver, set), await another(driver, set)];
      const [one, two, three, four] = ids.map((id) => ({ id, attempt: 1 }));
      assert.ok(one && two && three && four);
      await driver.mustCommit(set.lease, 0, 0, { settles: [one, two], journal: 'a' });
      await driver.mustCommit(set.lease, 0, 0, { settles: [three], journal: 'b' });
      await driver.mustCommit(set.lease, 0, 0, { settles: [four], journal: 'c' });
      const read = async (after: number, limit = 10) =>
        (await driver.store.readJournal(set.partition, after, limit)).map(({ upTo, row }) => [upTo, row]);
      const [a, b, c] = [
        [0.0002, 'a'],
        [0.0003, 'b'],
        [0.0004, 'c'],
      ];
      assert.deepEqual(await read(0), [a, b, c]);
      assert.deepEqual(await read(0, 2), [a, b]);
      assert.deepEqual(await read(0.0002), [b, c]);
      await driver.store.trimJournal(set.lease, 0.0003);
      assert.deepEqual(await read(0), [c]);
      await driver.reopen();
      assert.deepEqual(await read(0), [c]);
      await driver.store.trimJournal(set.lease, 0.0004);
      await driver.reopen();
      const taken = await driver.store.acquire(set.partition, set.lease.node, randomUUID(), 60_000);
      assert.deepEqual([taken.kind === 'granted' && taken.beside], [4], 'the next holder continues the count');
    });

    promise('a commit that counts other results beside the mailbox than the store is fenced', async (driver) => {
      const set = await started(driver);
      const other = { ...set, id: await another(driver, set) };
      const late = commitOf(set.lease, 0, 0, {
        settles: [set],
        beside: 0,
        records: [{ address: set.to, record: 'a' }],
      });
      assert.equal((await driver.store.commit(late, 0)).kind, 'committed');
      await driver.mustCommit(set.lease, 0, 0, {
        settles: [other],
        beside: 1,
        records: [{ address: set.to, record: 'b' }],
      });
      assert.equal((await driver.store.commit(late, 0)).kind, 'fenced', 'a late copy');
      assert.equal((await driver.commit(set.lease, 0, 0, { beside: 1, records: [] })).kind, 'fenced');
      assert.deepEqual(await driver.store.load(set.partition, [set.to]), ['b']);
    });

    promise('the mailbox is the only way for more results than positions beside one entry', async (driver) => {
      const set = await started(driver);
      await driver.mustCommit(set.lease, 0, 0, { settles: [set] });
      const effectsOpened = Array.from({ length: MOST_BESIDE }, () => openedAs(set, randomUUID()));
      await driver.mustCommit(set.lease, 0, 0, { effectsOpened });
      const settles = effectsOpened.map(({ id }) => ({ id, attempt: 1 }));
      assert.deepEqual(await driver.commit(set.lease, 0, 0, { settles }), { kind: 'unsettled' });
      assert.equal((await driver.mustCommit(set.lease, 0, 0, { settles: settles.slice(1) })).beside, MOST_BESIDE);
      assert.deepEqual(await driver.commit(set.lease, 0, 0, { settles: settles.slice(0, 1) }), { kind: 'unsettled' });
      await driver.append(set.partition, set.to, 'one');
      await driver.mustCommit(set.lease, 0, 1, { settles: settles.slice(0, 1) });
    });

    promise(
      'the result of an attempt that does not run is handled by no commit, and nothing is written',
      async (driver) => {
        const set = await started(driver);
        const cancelled = await started(driver);
        await driver.mustCommit(cancelled.lease, 0, 0, { effectsCancelled: [cancelled.id] });
        await driver.append(set.partition, set.to, 'waits');
        const records = [{ address: set.to, record: 'after' }];
        const outcomes = [
          await driver.commit(set.lease, 0, 1, { settles: [{ id: set.id, attempt: 2 }], records }),
          await driver.commit(cancelled.lease, 0, 0, { settles: [cancelled] }),
        ];
        assert.deepEqual(outcomes, [{ kind: 'unsettled' }, { kind: 'unsettled' }]);
        assert.deepEqual(await driver.store.load(set.partition, [set.to]), [null]);
        assert.equal(await driver.cursor(set.partition), 0);
        assert.equal(at(await driver.store.openEffects(set.partition), 0).status, 'started');
      },
    );

    promise('a lost lease settles nothing; the runner’s result is still taken', async (driver) => {
      const set = await started(driver);
      await driver.store.release(set.lease);
      const next = await driver.lease(set.partition, 'node-b');
      assert.equal((await driver.commit(set.lease, 0, 0, { settles: [set] })).kind, 'fenced');
      assert.equal(await driver.store.settleEffect(set.partition, set.id, 1, driver.delivery(set.to, 'result')), true);
      assert.deepEqual(await driver.bodies(next), ['result']);
    });

    promise('an unhurried message is in its mailbox as soon as it was handed over', async (driver) => {
      const [source, target] = await driver.partitions(2);
      assert.ok(source !== undefined && target !== undefined);
      const [from, to] = [await driver.lease(source), await driver.lease(target)];
      const delivery = { ...driver.delivery(driver.address(), 'unhurried'), lazy: true };
      await driver.mustCommit(from, 0, 0, { sends: [{ partition: target, delivery }] });
      await driver.flush(from);
      await eventually('it is there', async () => (await driver.bodies(to)).includes('unhurried'));
    });
  });
}
