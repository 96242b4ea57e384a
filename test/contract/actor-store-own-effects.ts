import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { EffectMode, EffectSettle, Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { at, commitOf, eventually, type MakeStore, type Rig, section } from './actor-store-rig.ts';

interface Scene {
  readonly partition: Partition;
  readonly lease: Lease;
  readonly to: Address;
  readonly id: string;
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
  return { partition, lease, to, id };
}

const resultOf = (rig: Rig, { id, to }: Scene, attempt = 1, body = 'result'): EffectSettle => ({
  id,
  attempt,
  delivery: rig.delivery(to, body),
});

/** Effects that the process which commits them runs: started by the commit, settled by the commit of their result's turn. */
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
      'a result settled by the commit of its turn is an entry of the mailbox and of the journal, once',
      async (rig) => {
        const set = await started(rig);
        const settle = resultOf(rig, set);
        const change = { settles: [settle], journal: 'row', records: [{ address: set.to, record: 'after' }] };
        const commit = commitOf(set.lease, 0, 1, change);
        const first = await rig.store.commit(commit, 10);
        assert.ok(first.kind === 'committed');
        assert.deepEqual(first.next, [], 'it was handled');
        const again = await rig.store.commit(commit, 10);
        if (again.kind === 'committed') assert.equal(again.at, first.at);
        const [row] = await rig.store.readJournal(set.partition, 0, 10);
        assert.deepEqual(row?.entries, [{ seq: 1, at: first.at, body: 'result' }]);
        assert.deepEqual(await rig.store.load(set.partition, [set.to]), ['after']);
        assert.deepEqual(await rig.store.openEffects(set.partition), []);
        const { cursor, tail } = await rig.store.backlog(set.partition);
        assert.deepEqual([cursor, tail], [1, 1]);
        await rig.store.settleEffect(set.partition, set.id, 1, settle.delivery);
        assert.deepEqual(await rig.bodies(set.lease, 1), [], 'sent again it is dropped');
        await rig.append(set.partition, set.to, 'next');
        assert.deepEqual(await rig.bodies(set.lease, 1), ['next']);
        await rig.mustCommit(set.lease, 1, 2);
      },
    );

    promise('several results go into one commit, in their order', async (rig) => {
      const set = await started(rig);
      const other = { ...set, id: randomUUID() };
      const effect = { id: other.id, queue: 'q', address: set.to, mode: 'once' as const, body: 'request' };
      const opened = [{ ...effect, started: { runner: RUNNER, ttlMs: 60_000 } }];
      await rig.mustCommit(set.lease, 0, 0, { effectsOpened: opened });
      const settles = [resultOf(rig, other, 1, 'one'), resultOf(rig, set, 1, 'two')];
      await rig.mustCommit(set.lease, 0, 2, { settles, journal: 'row' });
      const [row] = await rig.store.readJournal(set.partition, 0, 10);
      assert.deepEqual(
        row?.entries.map(({ body }) => body),
        ['one', 'two'],
      );
    });

    promise(
      'while something waits in the mailbox nothing is settled by a commit, and nothing of it is written',
      async (rig) => {
        const set = await started(rig);
        await rig.append(set.partition, set.to, 'earlier');
        const records = [{ address: set.to, record: 'after' }];
        const outcome = await rig.commit(set.lease, 0, 1, { settles: [resultOf(rig, set)], records });
        assert.deepEqual(outcome, { kind: 'unsettled' });
        assert.deepEqual(await rig.bodies(set.lease), ['earlier']);
        assert.deepEqual(await rig.store.load(set.partition, [set.to]), [null]);
        assert.equal(await rig.cursor(set.partition), 0);
        assert.equal(await rig.store.settleEffect(set.partition, set.id, 1, rig.delivery(set.to, 'result')), true);
        assert.deepEqual(await rig.bodies(set.lease), ['earlier', 'result']);
      },
    );

    promise(
      'the result of an attempt that is not the current one, or of a cancelled effect, is settled by no commit',
      async (rig) => {
        const set = await started(rig);
        const cancelled = await started(rig);
        await rig.mustCommit(cancelled.lease, 0, 0, { effectsCancelled: [cancelled.id] });
        const outcomes = [
          await rig.commit(set.lease, 0, 1, { settles: [resultOf(rig, set, 2)] }),
          await rig.commit(cancelled.lease, 0, 1, { settles: [resultOf(rig, cancelled)] }),
        ];
        assert.deepEqual(outcomes, [{ kind: 'unsettled' }, { kind: 'unsettled' }]);
        assert.equal((await rig.store.backlog(set.partition)).tail, 0);
        assert.equal(at(await rig.store.openEffects(set.partition), 0).status, 'started');
      },
    );

    promise('a lost lease settles nothing; the runner’s result is still taken', async (rig) => {
      const set = await started(rig);
      await rig.store.release(set.lease);
      const next = await rig.lease(set.partition, 'node-b');
      assert.equal((await rig.commit(set.lease, 0, 1, { settles: [resultOf(rig, set)] })).kind, 'fenced');
      assert.equal(await rig.store.settleEffect(set.partition, set.id, 1, rig.delivery(set.to, 'result')), true);
      assert.deepEqual(await rig.bodies(next), ['result']);
    });

    promise('an unhurried message is in its mailbox as soon as it was handed over', async (rig) => {
      const [source, target] = await rig.partitions(2);
      assert.ok(source !== undefined && target !== undefined);
      const [from, to] = [await rig.lease(source), await rig.lease(target)];
      const delivery = { ...rig.delivery(rig.address(), 'unhurried'), unhurried: true };
      await rig.mustCommit(from, 0, 0, { sends: [{ partition: target, delivery }] });
      await rig.flush(from);
      await eventually('it is there', async () => (await rig.bodies(to)).includes('unhurried'));
    });
  });
}
