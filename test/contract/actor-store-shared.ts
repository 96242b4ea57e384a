import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { CommitOutcome } from '../../runtime/actor-store.ts';
import type { AdoptOutcome } from '../../runtime/leases.ts';
import { sample } from '../support/size.ts';
import { sharedLogsLate } from './actor-store-shared-late.ts';
import { BOUND, fresh, logsOf, NO_CHANGES, nameOf, SharedLogDriver, TTL_MS } from './shared-log-driver.ts';
import { sharedLogHistory } from './shared-log-histories.ts';
import { at, commitOf, eventually, type MakeStore, section } from './store-under-test.ts';

const kindOf = ({ kind }: CommitOutcome): string => kind;

function granted(outcome: AdoptOutcome): Extract<AdoptOutcome, { kind: 'granted' }> {
  return outcome.kind === 'granted' ? outcome : assert.fail(`the log was not granted: ${outcome.kind}`);
}

/** Number of histories; `SVC_SHARED_HISTORIES` sets more. */
const HISTORIES = Number(process.env.SVC_SHARED_HISTORIES ?? sample({ quick: 4, normal: 4, long: 20 }));

/** Logs that the partitions of a node share; for adapters that have them. */
export function sharedLogs(make: MakeStore): void {
  sharedLogsLate(make);
  section('logs that partitions share', make, (promise) => {
    promise(
      'every message to a partition is in the log that it shares, in order, with its partition',
      async (driver) => {
        const setup = await SharedLogDriver.make(driver);
        const [one, two] = [at(setup.partitions, 0), at(setup.partitions, 1)];
        const to = driver.address();
        await driver.store.append(one, [fresh(to, 'fresh')], BOUND);
        await driver.append(two, to, 'named');
        const [home] = setup.homes;
        assert.ok(home);
        const source = await driver.lease(await driver.partition());
        await driver.mustCommit(source, 0, 0, { sends: [{ partition: two, delivery: driver.delivery(to, 'sent') }] });
        await driver.flush(source);
        const id = randomUUID();
        await setup.commit(
          [
            {
              partition: one,
              timersSet: [{ id: 'tick', afterMs: 0, delivery: driver.delivery(to, 'due') }],
              effectsOpened: [{ id, queue: 'q', address: to, mode: 'once', body: 'b' }],
              sends: [{ partition: two, delivery: driver.delivery(to, 'to a neighbour') }],
            },
          ],
          setup.cursor,
        );
        await eventually('the timer is due', async () => (await driver.fireTimers(home)) === null);
        const claim = await driver.store.claimEffect(one, id, 'node-a/1', TTL_MS);
        assert.equal(claim.kind, 'claimed');
        assert.ok(await driver.store.settleEffect(one, id, 1, driver.delivery(to, 'result')));
        assert.deepEqual(await setup.bodies(), [
          '0:fresh',
          '1:named',
          '1:sent',
          '1:to a neighbour',
          '0:due',
          '0:result',
        ]);
        assert.deepEqual(await driver.store.backlog(one), await driver.store.backlog(setup.lease.log));
        assert.equal(await driver.store.depth(two, to), 2, 'client messages of the actor');
        const { entries, next } = await driver.store.unread(two, to, 0, 10);
        assert.deepEqual(
          entries.map(({ body, partition }) => [body, partition]),
          ['named', 'sent', 'to a neighbour'].map((body) => [body, two]),
        );
        assert.equal(next, null);
      },
    );

    promise('one commit changes several partitions, or none', async (driver) => {
      const setup = await SharedLogDriver.make(driver);
      const [one, two] = [at(setup.partitions, 0), at(setup.partitions, 1)];
      const [to, other] = [driver.address(), driver.address()];
      const outcomes = await driver.store.append(one, [fresh(to, 'a')], BOUND);
      const session = randomUUID();
      const heard: string[] = [];
      const stop = driver.store.onReply(session, (_, body) => heard.push(body));
      const [entry] = await driver.entries(setup.lease, setup.cursor);
      const [outcome] = outcomes;
      assert.ok(outcome?.kind === 'accepted' && entry !== undefined);
      assert.deepEqual([outcome.seq, outcome.log], [entry.seq, setup.lease.log]);
      const messageId = randomUUID();
      const partitions = [
        { ...NO_CHANGES, partition: one, records: [{ address: to, record: 'A' }] },
        {
          ...NO_CHANGES,
          partition: two,
          records: [{ address: other, record: 'B' }],
          events: [{ address: other, first: 1, data: ['e'] }],
        },
      ];
      const replies = [{ session, messageId, body: 'answer', fresh: true, partition: one }];
      const commit = { ...commitOf(setup.lease, setup.cursor, entry.seq, { journal: 'row', replies }), partitions };
      const wrong = {
        ...commit,
        partitions: partitions.map((part) => ({ ...part, events: [{ address: to, first: 7, data: ['x'] }] })),
      };
      assert.equal(kindOf(await driver.store.commit(wrong, 0)), 'fenced');
      assert.deepEqual(await driver.store.load(one, [to]), [null]);
      assert.equal(kindOf(await driver.store.commit(commit, 0)), 'committed');
      assert.equal(kindOf(await driver.store.commit(commit, 0)), 'committed', 'a repeated call gets the same answer');
      assert.deepEqual([await driver.store.load(one, [to]), await driver.store.load(two, [other])], [['A'], ['B']]);
      assert.deepEqual(await driver.store.readEvents(two, other, 0, 10), [{ seq: 1, data: 'e' }]);
      await eventually('the reply is published', () => heard.length > 0);
      stop();
      assert.equal(await driver.store.recallReply(one, messageId, outcome), 'answer');
      const rows = await driver.store.readJournal(setup.lease.log, 0, 10);
      assert.deepEqual(
        rows.map(({ row, entries }) => [row, entries.map(({ partition, body }) => [partition, body])]),
        [['row', [[one, 'a']]]],
      );
    });

    promise(
      'a partition joins only while nothing waits in it, with its lease, and with smaller numbers',
      async (driver) => {
        const [busy, lost, ahead] = await driver.partitionsOfOneTag(3);
        assert.ok(busy && lost && ahead);
        const homes = [await driver.lease(busy), await driver.lease(lost), await driver.lease(ahead)];
        const setup = await SharedLogDriver.over(driver, homes);
        const far = await SharedLogDriver.make(driver, 1);
        await driver.append(busy, driver.address(), 'waits');
        await driver.lease(lost, 'node-a');
        assert.deepEqual(await setup.logs.join(setup.lease, homes), ['busy', 'lost', 'joined']);
        const closed = await far.logs.close(far.lease);
        const [home] = far.homes;
        assert.ok(closed !== null && home !== undefined);
        assert.deepEqual(await setup.logs.join(setup.lease, [home]), ['ahead']);
        assert.equal(await setup.logs.join({ ...setup.lease, grant: randomUUID() }, homes), null);
      },
    );

    promise('while a partition shares a log nothing is committed in its own', async (driver) => {
      const setup = await SharedLogDriver.make(driver);
      for (const home of setup.homes) {
        const cursor = await driver.cursor(home.log);
        assert.equal(
          kindOf(await driver.commit(home, 0, 0, { records: [{ address: driver.address(), record: 'x' }] })),
          'fenced',
        );
        assert.equal(await driver.store.forget(home, cursor, [driver.address()]), false);
      }
    });

    promise('a closed log takes no more messages; later ones go to the partition, behind it', async (driver) => {
      const setup = await SharedLogDriver.make(driver);
      const [one] = setup.partitions;
      assert.ok(one);
      const to = driver.address();
      const other = await driver.another();
      for (const store of [driver.store, other]) await store.append(one, [fresh(to, 'before')], BOUND);
      const closed = await setup.logs.close(setup.lease);
      assert.ok(closed !== null);
      for (const store of [driver.store, other]) await store.append(one, [fresh(to, 'after')], BOUND);
      await driver.append(one, to, 'named');
      assert.deepEqual(await setup.bodies(), ['0:before', '0:before']);
      const own = await driver.entries(at(setup.homes, 0), closed.cursor);
      assert.deepEqual(
        own.map(({ body }) => body),
        ['after', 'after', 'named'],
      );
      assert.ok(
        own.every(({ seq }) => seq > closed.tail),
        'numbers grow',
      );
      assert.equal((await driver.store.backlog(one)).cursor, closed.cursor);
      assert.deepEqual(await setup.logs.close(setup.lease), closed, 'a second close gets the same answer');
    });

    promise('a partition cannot be leased before the log that it shared is read to its end', async (driver) => {
      const setup = await SharedLogDriver.make(driver);
      const one = at(setup.partitions, 0);
      await driver.store.append(one, [fresh(driver.address(), 'waits')], BOUND);
      const asked = () => driver.store.acquire(one, 'node-b', randomUUID(), TTL_MS, at(setup.homes, 0).grant);
      const held = await asked();
      assert.ok(held.kind === 'held');
      assert.deepEqual([held.by, held.grant, held.behind], ['node-a', setup.lease.grant, setup.lease.log]);
      assert.equal((await setup.logs.adopt(setup.lease.log, 'node-b', randomUUID(), TTL_MS)).kind, 'held');
      const adopted = granted(await setup.logs.adopt(setup.lease.log, 'node-b', randomUUID(), TTL_MS, held.grant));
      assert.deepEqual([...adopted.partitions].sort(), [...setup.partitions].sort());
      assert.equal(kindOf(await setup.commit([])), 'fenced', 'the earlier holder');
      assert.equal(await setup.logs.close(setup.lease), null);
      const still = await asked();
      assert.deepEqual([still.kind, still.kind === 'held' && still.by], ['held', 'node-b']);
      const reader = new SharedLogDriver(driver, setup.homes, adopted.lease, adopted.cursor);
      assert.deepEqual(await reader.bodies(), ['0:waits']);
      assert.equal(await setup.logs.remove(adopted.lease), false, 'entries wait');
      assert.equal(kindOf(await reader.commit([])), 'committed');
      assert.equal(reader.cursor, adopted.tail);
      const had = await asked();
      assert.ok(had.kind === 'granted');
      assert.ok(had.cursor > adopted.tail);
      assert.equal(await setup.logs.remove(adopted.lease), false, 'its journal is not in documents');
      await driver.store.trimJournal(adopted.lease, reader.cursor);
      assert.ok((await setup.logs.list()).includes(setup.lease.log));
      assert.ok(await setup.logs.remove(adopted.lease));
      assert.ok(!(await setup.logs.list()).includes(setup.lease.log));
      assert.equal((await setup.logs.adopt(setup.lease.log, 'node-c', randomUUID(), TTL_MS)).kind, 'gone');
    });

    promise('sends that a partition still owes come before what it sends within the log', async (driver) => {
      const [one, two] = await driver.partitionsOfOneTag(2);
      assert.ok(one && two);
      const homes = [await driver.lease(one, 'node-a'), await driver.lease(two, 'node-a')] as const;
      const sends = (body: string) => [{ partition: two, delivery: driver.delivery(driver.address(), body) }];
      await driver.mustCommit(homes[0], 0, 0, { sends: sends('owed') });
      const setup = await SharedLogDriver.over(driver, homes);
      assert.deepEqual(await setup.logs.join(setup.lease, homes), ['joined', 'joined']);
      const outcome = await setup.commit([{ partition: one, sends: sends('sent') }]);
      assert.deepEqual(outcome.kind === 'committed' && outcome.owing, [one]);
      await driver.flush(homes[0]);
      assert.deepEqual(await setup.bodies(), ['1:owed', '1:sent']);
      await setup.commit([{ partition: one, sends: sends('at once') }]);
      assert.deepEqual(await setup.bodies(), ['1:at once']);
    });

    promise(
      'a commit that is repeated because its answer was lost returns again which sends are still owed',
      async (driver) => {
        const setup = await SharedLogDriver.make(driver);
        const [one, two] = [at(setup.partitions, 0), at(setup.partitions, 1)];
        const elsewhere = await driver.partition();
        await driver.append(one, driver.address(), 'waits');
        const [entry] = await driver.entries(setup.lease, setup.cursor);
        assert.ok(entry);
        const sends = [{ partition: elsewhere, delivery: driver.delivery(driver.address(), 'sent') }];
        const partitions = [
          { ...NO_CHANGES, partition: one, sends },
          { ...NO_CHANGES, partition: two, records: [{ address: driver.address(), record: 'quiet' }] },
        ];
        const commit = { ...commitOf(setup.lease, setup.cursor, entry.seq), partitions };
        for (const time of ['first', 'again']) {
          const outcome = await driver.store.commit(commit, 100);
          assert.deepEqual(outcome.kind === 'committed' && outcome.owing, [one], time);
        }
        await driver.flush(at(setup.homes, 0));
        const outcome = await driver.store.commit(commit, 100);
        assert.deepEqual(outcome.kind === 'committed' && outcome.owing, [], 'handed over');
      },
    );

    promise('a log whose creation was given up is never created', async (driver) => {
      const [partition] = await driver.partitions(1);
      assert.ok(partition);
      const log = nameOf(driver.store, [partition]);
      const grant = randomUUID();
      assert.ok(await logsOf(driver.store).close({ log, node: 'node-a', epoch: 1, grant }));
      assert.equal(await logsOf(driver.store).make(log, 'node-a', grant, TTL_MS, [partition]), null);
    });

    promise(
      'an ended actor whose partition went on goes only while its record is the one that was seen',
      async (driver) => {
        const setup = await SharedLogDriver.make(driver);
        const one = at(setup.partitions, 0);
        const [same, changed] = [driver.address(), driver.address()];
        const records = [same, changed].map((address) => ({ address, record: 'ended' }));
        await setup.commit([{ partition: one, records }]);
        await setup.commit([{ partition: one, records: [{ address: changed, record: 'heard something' }] }]);
        const seen = new Map([same, changed].map((address) => [address, 'ended']));
        assert.deepEqual(await setup.logs.forgetEnded(one, seen), [same]);
        assert.deepEqual(await driver.store.load(one, [same, changed]), [null, 'heard something']);
      },
    );

    promise(
      'a postponed message waits in its partition, whichever log that has, until a commit resumes it',
      async (driver) => {
        const setup = await SharedLogDriver.make(driver);
        const [one, two] = [at(setup.partitions, 0), at(setup.partitions, 1)];
        const to = driver.address();
        const append = (bodies: string[]) =>
          driver.store.append(
            one,
            bodies.map((body) => fresh(to, body)),
            BOUND,
          );
        const waiting = async (after = 0, limit = 10) =>
          (await setup.logs.postponed(one, after, limit)).map(({ body }) => body);
        await append(['a', 'b', 'c']);
        const entries = await driver.entries(setup.lease, setup.cursor);
        const [first, , third] = entries;
        assert.ok(first && third);
        const postponed = entries.map(({ seq, at: time, body }) => ({ seq, at: time, body }));
        await setup.commit([{ partition: one, postponed }]);
        assert.equal((await driver.store.backlog(one)).oldestAt, first.at);
        assert.equal((await driver.store.backlog(two)).oldestAt, null);
        assert.deepEqual(await setup.logs.postponed(one, 0, 2), entries.slice(0, 2));
        assert.deepEqual(await waiting(first.seq), ['b', 'c']);
        assert.deepEqual(await setup.logs.postponed(two, 0, 10), []);
        const resumed = { ...NO_CHANGES, partition: one, resumed: [first.seq] };
        const commit = { ...commitOf(setup.lease, setup.cursor, setup.cursor, { results: 1 }), partitions: [resumed] };
        for (const time of ['first', 'again'])
          assert.equal(kindOf(await driver.store.commit(commit, 0)), 'committed', time);
        assert.deepEqual(await waiting(), ['b', 'c']);
        const adopted = granted(
          await setup.logs.adopt(setup.lease.log, 'node-b', randomUUID(), TTL_MS, setup.lease.grant),
        );
        assert.deepEqual(adopted.postponed, [one]);
        const had = await driver.store.acquire(one, 'node-b', randomUUID(), TTL_MS);
        const other = await driver.store.acquire(two, 'node-b', randomUUID(), TTL_MS);
        assert.ok(had.kind === 'granted' && other.kind === 'granted');
        assert.deepEqual([had.hasPostponed, other.hasPostponed], [true, false]);
        const next = await SharedLogDriver.over(driver, [had.lease, other.lease]);
        assert.deepEqual(await next.logs.join(next.lease, [had.lease, other.lease]), ['busy', 'joined']);
        await driver.mustCommit(had.lease, had.cursor, had.cursor, { results: 2, resumed: [third.seq - 1, third.seq] });
        assert.deepEqual(await waiting(), []);
        assert.deepEqual(await next.logs.join(next.lease, [had.lease]), ['joined']);
      },
    );

    promise('a closed log writes nothing into a partition that another holder has taken', async (driver) => {
      const setup = await SharedLogDriver.make(driver);
      const [one, two] = [at(setup.partitions, 0), at(setup.partitions, 1)];
      const to = driver.address();
      await driver.store.append(one, [fresh(to, 'a')], BOUND);
      const [first] = await driver.entries(setup.lease, setup.cursor);
      assert.ok(first);
      await setup.commit([{ partition: one, postponed: [{ seq: first.seq, at: first.at, body: first.body }] }]);
      const adopt = (over: string) => setup.logs.adopt(setup.lease.log, 'node-b', randomUUID(), TTL_MS, over);
      const adopted = granted(await adopt(setup.lease.grant));
      const reader = new SharedLogDriver(driver, setup.homes, adopted.lease, adopted.cursor);
      const had = await driver.store.acquire(one, 'node-b', randomUUID(), TTL_MS);
      assert.ok(had.kind === 'granted');
      const written = { partition: one, records: [{ address: to, record: 'late' }] };
      assert.equal(kindOf(await reader.commit([{ ...written, resumed: [first.seq] }])), 'unsettled');
      assert.equal(kindOf(await reader.commit([written])), 'unsettled', 'a commit of states alone');
      assert.deepEqual(await driver.store.load(one, [to]), [null]);
      assert.equal((await setup.logs.postponed(one, 0, 10)).length, 1);
      const record = { address: driver.address(), record: 'in time' };
      assert.equal(
        kindOf(await reader.commit([{ partition: two, records: [record] }])),
        'committed',
        'no other holder took it',
      );
      const again = granted(await adopt(adopted.lease.grant));
      assert.deepEqual(again.postponed, [], 'they are with the other holder');
      const free = setup.partitions.filter((partition) => partition !== one);
      assert.deepEqual([...again.partitions].sort(), [...free].sort(), 'the actors of the other one are not its own');
      await driver.mustCommit(had.lease, had.cursor, had.cursor, { results: 1, resumed: [first.seq] });
      assert.deepEqual(await setup.logs.postponed(one, 0, 10), []);
    });

    promise('messages that a closed log sends within itself have no number of its partitions', async (driver) => {
      const setup = await SharedLogDriver.make(driver);
      const [one, two] = [at(setup.partitions, 0), at(setup.partitions, 1)];
      await driver.store.append(one, [fresh(driver.address(), 'before')], BOUND);
      const closed = await setup.logs.close(setup.lease);
      assert.ok(closed !== null);
      await driver.store.append(one, [fresh(driver.address(), 'after')], BOUND);
      const sends = ['x', 'y', 'z'].map((body) => ({
        partition: one,
        delivery: driver.delivery(driver.address(), body),
      }));
      assert.equal(kindOf(await setup.commit([{ partition: one, sends }])), 'committed');
      const within = await driver.entries(setup.lease, setup.cursor);
      assert.deepEqual(
        within.map(({ body }) => body),
        ['x', 'y', 'z'],
      );
      const [own] = await driver.entries(at(setup.homes, 0), closed.cursor);
      assert.ok(own !== undefined && own.seq > at(within, 2).seq);
      const neighbour = { partition: two, delivery: driver.delivery(driver.address(), 'to a neighbour') };
      const outcome = await setup.commit([{ partition: one, sends: [neighbour] }]);
      assert.deepEqual(outcome.kind === 'committed' && outcome.owing, [one], 'another holder may have it by now');
    });

    promise('a client message is held back, and counts, in its partition wherever the log is', async (driver) => {
      const setup = await SharedLogDriver.make(driver);
      const one = at(setup.partitions, 0);
      const to = driver.address();
      await driver.store.append(one, [fresh(to, 'a')], 2);
      const [entry] = await driver.entries(setup.lease, setup.cursor);
      assert.ok(entry);
      const held = [{ address: to, count: 1, partition: one }];
      const partitions = [{ ...NO_CHANGES, partition: one }];
      const commit = { ...commitOf(setup.lease, setup.cursor, entry.seq, { held }), partitions };
      assert.equal(kindOf(await driver.store.commit(commit, 0)), 'committed');
      const kinds = async () => (await driver.store.append(one, [fresh(to, 'b')], 2)).map(({ kind }) => kind);
      assert.deepEqual(await kinds(), ['accepted']);
      assert.deepEqual(await kinds(), ['full']);
      await setup.logs.close(setup.lease);
      assert.deepEqual(await kinds(), ['accepted'], 'one is held back, one waits in the closed log');
      assert.deepEqual(await kinds(), ['full']);
    });

    promise(
      'histories of hand-overs and adoptions with calls twice and late: each message once, in order',
      async (driver) => {
        const calm = driver.disturb();
        try {
          const done = { joins: 0, resumed: 0 };
          for (let seed = 1; seed <= HISTORIES; seed += 1) await sharedLogHistory(driver, seed, { done });
          assert.ok(done.joins >= HISTORIES && done.resumed >= HISTORIES, JSON.stringify(done));
        } finally {
          await calm();
        }
      },
    );
  });
}
