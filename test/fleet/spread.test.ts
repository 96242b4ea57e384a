import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetPlacement } from '../../cluster/placement/fleet-placement.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Members } from '../../runtime/members.ts';
import { systemRandom } from '../../runtime/random.ts';

/** A node of a fleet of `size` nodes, with a function that delivers a signal of another node to it. */
async function nodeIn(size: number) {
  const delays: number[] = [];
  const asked: string[] = [];
  let signal = (_text: string): void => {};
  const found = Array.from({ length: size }, (_, n) => ({
    ...{ node: `n${n}`, incarnation: 'one', card: '', remainingMs: 6_000 },
  }));
  const members: Members = {
    announce: async () => true,
    members: async () => found,
    async readMembers(_node, known) {
      asked.push(known);
      const soonestMs = 6_000;
      if (known !== '') return { version: 'v', members: [], gone: [], soonestMs };
      return { version: 'v', members: found, gone: null, soonestMs };
    },
    retire: async () => true,
    isKnown: async () => true,
    pools: async () => [{ pool: 'default', partitions: 1 }],
    signal: async () => {},
    onSignal(_node, receive) {
      signal = receive;
      return () => {};
    },
  };
  const after = (delayMs: number) => {
    delays.push(delayMs);
    return () => {};
  };
  const placement = new FleetPlacement({
    ...{ members, node: 'n0', leaseTtlMs: 6_000, warn: () => {} },
    info: {
      role: 'hybrid',
      tags: [],
      weight: 1,
      version: '',
      startedAt: 0,
      pulse: null,
      clusterAddress: null,
      restUrl: null,
    },
    clock: { ...systemClock, after },
    random: { ...systemRandom, fraction: () => 0.5 },
  });
  placement.onChange(() => {});
  await placement.assign();
  return { placement, delays, asked, signal: (signalled: object): void => signal(JSON.stringify(signalled)) };
}

/** Delays after which the node reads the members when it receives three signals. */
async function delaysIn(size: number): Promise<number[]> {
  const { delays, signal } = await nodeIn(size);
  delays.length = 0;
  for (const by of ['a', 'b', 'c']) signal({ fleet: 'joined', by, versioned: true });
  return delays;
}

test('a thousand nodes that are notified at once read over a second, once each; a few read at once', async () => {
  assert.deepEqual(await delaysIn(1_000), [500]);
  assert.deepEqual(await delaysIn(8), [0]);
});

test('after a signal of another node a poll reads only changed members, and all members if that node runs an earlier program', async () => {
  const { placement, asked, signal } = await nodeIn(3);
  assert.deepEqual(asked, ['']);
  signal({ fleet: 'joined', by: 'a', versioned: true });
  await placement.assign();
  assert.deepEqual(asked, ['', 'v']);
  signal({ fleet: 'joined', by: 'a' });
  await placement.assign();
  assert.deepEqual(asked, ['', 'v', '']);
});
