import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { EffectMode, EffectOpen, Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { MOST_BESIDE } from '../../runtime/leases.ts';
import { at, commitOf, eventually, type MakeStore, type Rig, section } from './actor-store-rig.ts';

interface Scene {
  readonly partition: Partition;
  readonly lease: Lease<Partition>;
  readonly to: Address;
  readonly id: string;
  readonly attempt: number;
}

const RUNNER = 'node-a/1';

/** An effect opened by a commit that starts it. */
async function started(rig: Rig, mode: EffectMode = 'once', ttlMs = 60_000): Promise<Scene> {
  const partition = await rig.partition();
  const lease = await rig.lease(partition);
  const to = rig.address();
  const id = randomUUID();
  const effect = { id, queue: 'q', address: to, mode, body: 'request', started: { runner: RUNNER, ttlMs } };
  await rig.mustCommit(lease, 0, 0, { effectsOpened: [effect] });
  return { partition, lease, to, id, attempt: 1 };
}

const openedAs = ({ to }: Scene, id: string): EffectOpen => ({
  ...{ id, queue: 'q', address: to, mode: 'once', body: 'request' },
  started: { runner: RUNNER, ttlMs: 60_000 },
});

/** One more effect of that actor; answers its id. */
async function another(rig: Rig, scene: Scene): Promise<string> {
  const id = randomUUID();
  await rig.mustCommit(scene.lease, 0, 0, { effectsOpened: [openedAs(scene, id)] });
  return id;
}

/** Effects that the process which commits them runs: started by the commit, ended by the commit of their result's turn. */
export function ownEffectContract(make: MakeStore): void {
  section('effects that run where they were committed', make, (promise) => {
    promise('an effect started by its commit is its runner’s, as if it had been claimed', async (rig) => {
      const set = await started(rig, 'repeatable');
      const [row] = await rig.store.openEffects(set.partition);
      assert.deepEqual([row?.status, row?.attempt, row?.runner, row?.mode], ['started', 1, RUNNER, 'repeatable']);
      assert.ok(row && row.until > (await rig.store.now()), 'its claim runs out some time');
      const claim = await rig.store.claimEffect(set.partition, set.id, 'node-b/1', 1_000);
      assert.ok(claim.kind === 'busy' && claim.by === RUNNER);
      assert.equal(await rig.store.keepEffect(set.partition, set.id, 1, 60_000), true);
      assert.equal(await rig.store.settleEffect(set.partition, set.id, 1, rig.delivery(set.to, 'result')), true);
      assert.deepEqual(await rig.bodies(set.lease), ['result']);
    });

    promise('a once effect started by its commit is in doubt when its runner is gone', async (rig) => {
      const set = await started(rig);
      const claim = await rig.store.claimEffect(set.partition, set.id, 'node-b/1', 60_000, RUNNER);
      assert.ok(claim.kind === 'in_doubt' && claim.body === 'request');
      const next = await started(rig, 'once', 40);
      await rig.elapse(45);
      assert.equal((await rig.store.claimEffect(next.partition, next.id, 'node-b/1', 60_000)).kind, 'in_doubt');
    });

    promise('a once effect that its runner gives back is claimed anew, and only its runner can', async (rig) => {
      const set = await started(rig);
      assert.equal(await rig.store.reopenEffect(set.partition, set.id, 1, 0, 'node-b/1'), false);
      assert.equal(await rig.store.reopenEffect(set.partition, set.id, 1, 0, RUNNER), true);
      assert.equal(await rig.store.reopenEffect(set.partition, set.id, 1, 0, RUNNER), false);
      const claim = await rig.store.claimEffect(set.partition, set.id, 'node-b/1', 60_000);
      assert.deepEqual([claim.kind, claim.kind === 'claimed' && claim.attempt], ['claimed', 2]);
    });

    promise('a fenced commit starts no effect', async (rig) => {
      const partition = await rig.partition();
      const stale = await rig.lease(partition);
      await rig.store.release(stale);
      await rig.lease(partition, 'node-b');
      const to = rig.address();
      const given = { id: randomUUID(), queue: 'q', address: to, mode: 'once' as const, body: 'request' };
      const change = { effectsOpened: [{ ...given, started: { runner: RUNNER, ttlMs: 1_000 } }] };
      assert.equal((await rig.commit(stale, 0, 0, change)).kind, 'fenced');
      assert.deepEqual(await rig.store.openEffects(partition), []);
    });

    promise(
      'a result that a commit handled is in its journal row, in no mailbox, and ends its effect, once',
      async (rig) => {
        const set = await started(rig);
        const change = { settles: [set], beside: 0, journal: 'row', records: [{ address: set.to, record: 'after' }] };
        const commit = commitOf(set.lease, 0, 0, change);
        const first = await rig.store.commit(commit, 10);
        assert.ok(first.kind === 'committed');
        assert.deepEqual([first.beside, first.next], [1, []]);
        const again = await rig.store.commit(commit, 10);
        if (again.kind === 'committed') assert.deepEqual([again.at, again.beside], [first.at, 1]);
        assert.deepEqual(await rig.store.readJournal(set.partition, 0, 10), [
          { upTo: 0.0001, row: 'row', entries: [] },
        ]);
        assert.deepEqual(await rig.store.load(set.partition, [set.to]), ['after']);
        assert.deepEqual(await rig.store.openEffects(set.partition), []);
        const { cursor, tail } = await rig.store.backlog(set.partition);
        assert.deepEqual([cursor, tail], [0, 0]);
        assert.equal(await rig.store.settleEffect(set.partition, set.id, 1, rig.delivery(set.to, 'result')), false);
        assert.deepEqual(await rig.bodies(set.lease), [], 'sent again it is dropped');
        await rig.append(set.partition, set.to, 'next');
        const next = await rig.mustCommit(set.lease, 0, 1, { beside: 1, journal: 'next' });
        assert.equal(next.beside, 0, 'none since the cursor stands there');
        const rows = await rig.store.readJournal(set.partition, 0, 10);
        assert.deepEqual(
          rows.map(({ upTo, entries }) => [upTo, entries.map(({ body }) => body)]),
          [
            [0.0001, []],
            [1, ['next']],
          ],
        );
      },
    );

    promise('whatever waits in the mailbox may wait, or be handled by the same commit', async (rig) => {
      const set = await started(rig);
      const other = { ...set, id: await another(rig, set) };
      await rig.append(set.partition, set.to, 'earlier', 'later');
      const first = await rig.mustCommit(set.lease, 0, 0, { settles: [set], journal: 'row' }, 10);
      assert.deepEqual(
        first.next.map(({ body }) => body),
        ['earlier', 'later'],
      );
      const second = await rig.mustCommit(set.lease, 0, 1, { settles: [other], beside: 1, journal: 'both' }, 10);
      assert.deepEqual([second.beside, second.next.map(({ body }) => body)], [1, ['later']]);
      const rows = await rig.store.readJournal(set.partition, 0, 10);
      assert.deepEqual(
        rows.map(({ upTo, row, entries }) => [upTo, row, entries.map(({ body }) => body)]),
        [
          [0.0001, 'row', []],
          [1.0001, 'both', ['earlier']],
        ],
      );
      await rig.mustCommit(set.lease, 1, 2, { beside: 1 });
    });

    promise('results of effects that a commit need not open are counted with it', async (rig) => {
      const set = await started(rig);
      await rig.append(set.partition, set.to, 'asks');
      const first = await rig.mustCommit(set.lease, 0, 1, { results: 3, journal: 'row' });
      const second = await rig.mustCommit(set.lease, 1, 1, { settles: [set], results: 2, beside: 3, journal: 'next' });
      assert.deepEqual([first.beside, second.beside], [3, 5]);
      const rows = await rig.store.readJournal(set.partition, 0, 10);
      assert.deepEqual(
        rows.map(({ upTo, entries }) => [upTo, entries.length]),
        [
          [1.0003, 1],
          [1.0005, 0],
        ],
      );
    });

    promise('rows of one cursor have positions of their own: read behind each, trimmed up to each', async (rig) => {
      const set = await started(rig);
      const ids = [set.id, await another(rig, set), await another(rig, set), await another(rig, set)];
      const [one, two, three, four] = ids.map((id) => ({ id, attempt: 1 }));
      assert.ok(one && two && three && four);
      await rig.mustCommit(set.lease, 0, 0, { settles: [one, two], journal: 'a' });
      await rig.mustCommit(set.lease, 0, 0, { settles: [three], journal: 'b' });
      await rig.mustCommit(set.lease, 0, 0, { settles: [four], journal: 'c' });
      const read = async (after: number, limit = 10) =>
        (await rig.store.readJournal(set.partition, after, limit)).map(({ upTo, row }) => [upTo, row]);
      const [a, b, c] = [
        [0.0002, 'a'],
        [0.0003, 'b'],
        [0.0004, 'c'],
      ];
      assert.deepEqual(await read(0), [a, b, c]);
      assert.deepEqual(await read(0, 2), [a, b]);
      assert.deepEqual(await read(0.0002), [b, c]);
      await rig.store.trimJournal(set.lease, 0.0003);
      assert.deepEqual(await read(0), [c]);
      await rig.reopen();
      assert.deepEqual(await read(0), [c]);
      await rig.store.trimJournal(set.lease, 0.0004);
      await rig.reopen();
      const taken = await rig.store.acquire(set.partition, set.lease.node, randomUUID(), 60_000);
      assert.deepEqual([taken.kind === 'granted' && taken.beside], [4], 'the next holder counts on');
    });

    promise('a commit that counts other results beside the mailbox than the store is fenced', async (rig) => {
      const set = await started(rig);
      const other = { ...set, id: await another(rig, set) };
      const late = commitOf(set.lease, 0, 0, {
        settles: [set],
        beside: 0,
        records: [{ address: set.to, record: 'a' }],
      });
      assert.equal((await rig.store.commit(late, 0)).kind, 'committed');
      await rig.mustCommit(set.lease, 0, 0, {
        settles: [other],
        beside: 1,
        records: [{ address: set.to, record: 'b' }],
      });
      assert.equal((await rig.store.commit(late, 0)).kind, 'fenced', 'a late copy');
      assert.equal((await rig.commit(set.lease, 0, 0, { beside: 1, records: [] })).kind, 'fenced');
      assert.deepEqual(await rig.store.load(set.partition, [set.to]), ['b']);
    });

    promise('the mailbox is the only way for more results than positions beside one entry', async (rig) => {
      const set = await started(rig);
      await rig.mustCommit(set.lease, 0, 0, { settles: [set] });
      const effectsOpened = Array.from({ length: MOST_BESIDE }, () => openedAs(set, randomUUID()));
      await rig.mustCommit(set.lease, 0, 0, { effectsOpened });
      const settles = effectsOpened.map(({ id }) => ({ id, attempt: 1 }));
      assert.deepEqual(await rig.commit(set.lease, 0, 0, { settles }), { kind: 'unsettled' });
      assert.equal((await rig.mustCommit(set.lease, 0, 0, { settles: settles.slice(1) })).beside, MOST_BESIDE);
      assert.deepEqual(await rig.commit(set.lease, 0, 0, { settles: settles.slice(0, 1) }), { kind: 'unsettled' });
      await rig.append(set.partition, set.to, 'one');
      await rig.mustCommit(set.lease, 0, 1, { settles: settles.slice(0, 1) });
    });

    promise(
      'the result of an attempt that does not run is handled by no commit, and nothing is written',
      async (rig) => {
        const set = await started(rig);
        const cancelled = await started(rig);
        await rig.mustCommit(cancelled.lease, 0, 0, { effectsCancelled: [cancelled.id] });
        await rig.append(set.partition, set.to, 'waits');
        const records = [{ address: set.to, record: 'after' }];
        const outcomes = [
          await rig.commit(set.lease, 0, 1, { settles: [{ id: set.id, attempt: 2 }], records }),
          await rig.commit(cancelled.lease, 0, 0, { settles: [cancelled] }),
        ];
        assert.deepEqual(outcomes, [{ kind: 'unsettled' }, { kind: 'unsettled' }]);
        assert.deepEqual(await rig.store.load(set.partition, [set.to]), [null]);
        assert.equal(await rig.cursor(set.partition), 0);
        assert.equal(at(await rig.store.openEffects(set.partition), 0).status, 'started');
      },
    );

    promise('a lost lease settles nothing; the runner’s result is still taken', async (rig) => {
      const set = await started(rig);
      await rig.store.release(set.lease);
      const next = await rig.lease(set.partition, 'node-b');
      assert.equal((await rig.commit(set.lease, 0, 0, { settles: [set] })).kind, 'fenced');
      assert.equal(await rig.store.settleEffect(set.partition, set.id, 1, rig.delivery(set.to, 'result')), true);
      assert.deepEqual(await rig.bodies(next), ['result']);
    });

    promise('an unhurried message is in its mailbox as soon as it was handed over', async (rig) => {
      const [source, target] = await rig.partitions(2);
      assert.ok(source !== undefined && target !== undefined);
      const [from, to] = [await rig.lease(source), await rig.lease(target)];
      const delivery = { ...rig.delivery(rig.address(), 'unhurried'), lazy: true };
      await rig.mustCommit(from, 0, 0, { sends: [{ partition: target, delivery }] });
      await rig.flush(from);
      await eventually('it is there', async () => (await rig.bodies(to)).includes('unhurried'));
    });
  });
}
