import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf } from '../../runtime/address.ts';
import { committersOf } from '../chaos/one-committer.ts';
import { type Cluster, clusterMissing, startCluster } from '../support/cluster/cluster.ts';
import { sample } from '../support/size.ts';

const skip = clusterMissing();
const MINUTES_MS = 60_000;
const ACTORS = sample({ normal: 8, long: 16 });
const AFTER_MS = 3_000;
/** A timer may be late on a busy machine, but never early. */
const LATE_MS = 15_000;
/** The product's default: a node that is busy for two seconds keeps its leases. */
const LEASE_TTL_MS = 6_000;

const Alarm = z.object({ fired: z.number() });

/** Times around the call that set it, on the test's own monotonic clock. */
interface SetAlarm {
  readonly address: Address;
  readonly askedAt: number;
  readonly setAt: number;
}

describe('nodes whose clocks are wrong', { skip, timeout: 300_000 }, () => {
  let cluster: Cluster;
  let ticks = 0;
  const tickers = Array.from({ length: ACTORS }, () => addressOf('ticker', 'acme', randomUUID()));

  before(async () => {
    const config = { kernel: { lease_ttl_ms: LEASE_TTL_MS, lease_renew_ms: 500 } };
    cluster = await startCluster({ nodes: 2, started: 0, workload: new URL('workload.ts', import.meta.url), config });
  });
  after(() => cluster?.destroy());

  async function tickAll(): Promise<void> {
    ticks += 1;
    const answers = await cluster.explained(Promise.all(tickers.map((to) => cluster.client.ask(to, 'Tick', {}))));
    assert.deepEqual(new Set(answers.map((answer) => JSON.stringify(answer))), new Set([`{"value":${ticks}}`]));
  }
  const setAlarms = (): Promise<readonly SetAlarm[]> =>
    Promise.all(
      Array.from({ length: ACTORS }, async () => {
        const address = addressOf('alarm', 'acme', randomUUID());
        const askedAt = performance.now();
        await cluster.explained(cluster.client.ask(address, 'Set', { afterMs: AFTER_MS }));
        return { address, askedAt, setAt: performance.now() };
      }),
    );
  /** Each alarm fires once, neither early nor late. */
  async function allFireOnce(alarms: readonly SetAlarm[], lateMs = LATE_MS): Promise<void> {
    await Promise.all(
      alarms.map(async ({ address, askedAt, setAt }) => {
        const { fired } = await cluster.waitUntil(`${address} to go off`, async () => {
          const state = await cluster.client.state(address, Alarm);
          return state !== null && state.fired > 0 && state;
        });
        const seenAt = performance.now();
        assert.equal(fired, 1);
        assert.ok(seenAt - askedAt >= AFTER_MS, `${address} fired after ${Math.round(seenAt - askedAt)} ms`);
        assert.ok(seenAt - setAt < AFTER_MS + lateMs, `${address} fired after ${Math.round(seenAt - setAt)} ms`);
      }),
    );
  }
  async function skewed(who: number, ms: number): Promise<void> {
    await cluster.skewClock(who, ms);
    await cluster.waitUntil(`the clock of node-${who} to be ${ms} ms off`, async () => {
      const local = await cluster.local(who);
      return local !== null && Math.abs(local.now - Date.now() - ms) < 5_000;
    });
  }
  async function leasesOf() {
    const seen = await Promise.all(cluster.names.map((name) => cluster.local(name)));
    return seen.filter((local) => local !== null);
  }

  test('with one node two minutes ahead and one two minutes behind, leases are kept, timers fire in time, and no message is delayed', async () => {
    await cluster.skewClock(0, 2 * MINUTES_MS);
    await cluster.skewClock(1, -2 * MINUTES_MS);
    await cluster.start(0);
    await cluster.start(1);
    const before = await cluster.settled('with clocks four minutes apart');
    const alarms = await setAlarms();
    for (let round = 0; round < 3; round += 1) await tickAll();
    await allFireOnce(alarms);
    assert.deepEqual(await cluster.holders(), before, 'no lease moved');
  });

  test('clocks that jump by minutes and by an hour while nodes run move no lease, fire no timer early and delay no message', async () => {
    const before = await cluster.settled('before the jump');
    const alarms = await setAlarms();
    await skewed(0, -2 * MINUTES_MS);
    await tickAll();
    await skewed(1, 60 * MINUTES_MS);
    await tickAll();
    await skewed(0, 0);
    await allFireOnce(alarms);
    await tickAll();
    assert.deepEqual(await cluster.holders(), before, 'no lease moved');
    const seen = await leasesOf();
    assert.deepEqual(
      seen.map(({ fenced }) => fenced),
      [0, 0],
    );
    assert.deepEqual(committersOf(seen), []);
  });

  test('a node whose clock is wrong is killed: the other takes over, and its timers fire in time', async () => {
    await skewed(0, 2 * MINUTES_MS);
    const alarms = await setAlarms();
    await cluster.kill(0);
    await tickAll();
    // The leases of the killed node expire first.
    await allFireOnce(alarms, LEASE_TTL_MS + LATE_MS);
    assert.deepEqual(cluster.crashed, []);
  });
});
