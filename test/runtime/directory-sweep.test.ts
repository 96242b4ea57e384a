import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { type Address, addressOf, type Partition } from '../../runtime/address.ts';
import { Registry } from '../../runtime/define-actor.ts';
import { DirectorySweep } from '../../runtime/dispatch/partition-sweeps.ts';
import { Locator } from '../../runtime/locator.ts';
import { counter } from '../support/actors.ts';

const HOME: Partition = 'default:0';
const THERE: Partition = 'default:1';

/** A directory in memory; the hooks do what other processes may do meanwhile. */
function setup(entries: number) {
  const addresses = Array.from({ length: entries }, () => addressOf('counter', 'acme', randomUUID()));
  const directory = new Map<Address, Partition>(addresses.map((address) => [address, THERE]));
  const tails: { cursor: number; tail: number; oldestAt: number | null } = { cursor: 0, tail: 0, oldestAt: null };
  const calls = { load: 0, backlog: 0 };
  const meanwhile: { beforeUnplace?: (address: Address) => void } = {};
  const store: Pick<ActorStore, 'placed' | 'place' | 'load' | 'backlog' | 'locate' | 'unplace'> = {
    placed: async () => ({
      entries: [...directory].map(([address, partition]) => ({ address, partition })),
      next: null,
    }),
    async place(_home, address, partition) {
      const known = directory.get(address) ?? partition;
      directory.set(address, known);
      return known;
    },
    async unplace(_home, address, partition) {
      meanwhile.beforeUnplace?.(address);
      return directory.get(address) === partition && directory.delete(address);
    },
    locate: async (_home, address) => directory.get(address) ?? null,
    async load(_partition, asked) {
      calls.load += 1;
      return asked.map(() => null);
    },
    async backlog() {
      calls.backlog += 1;
      return { ...tails };
    },
  };
  const registry = new Registry([{ ...counter, placed: true }], [{ pool: 'default', partitions: 1 }]);
  const sweep = new DirectorySweep(store, new Locator(registry, Object.assign(store)));
  return { addresses, directory, tails, calls, meanwhile, sweep: () => sweep.sweep([HOME]) };
}

test('an entry without an actor is removed at the second sweep, and a page costs one load a partition', async () => {
  const { directory, calls, sweep } = setup(200);
  assert.equal(await sweep(), 0);
  assert.deepEqual(calls, { load: 1, backlog: 1 });
  assert.equal(await sweep(), 200);
  assert.equal(directory.size, 0);
});

test('an entry whose first message arrives while the sweep removes it stays', async () => {
  const { addresses, directory, tails, meanwhile, sweep } = setup(1);
  await sweep();
  meanwhile.beforeUnplace = () => {
    tails.tail += 1;
  };
  assert.equal(await sweep(), 0);
  assert.equal(directory.get(addresses[0] ?? assert.fail()), THERE);
});

test('an entry stays while a message of its partition is postponed: it may be the first one of its actor', async () => {
  const { addresses, directory, tails, sweep } = setup(1);
  tails.oldestAt = 1;
  assert.deepEqual([await sweep(), await sweep()], [0, 0]);
  assert.equal(directory.get(addresses[0] ?? assert.fail()), THERE);
  tails.oldestAt = null;
  assert.deepEqual([await sweep(), await sweep()], [0, 1]);
});

test('an entry that names another partition by now stays', async () => {
  const { addresses, directory, meanwhile, sweep } = setup(1);
  await sweep();
  meanwhile.beforeUnplace = (address) => directory.set(address, 'default:7');
  assert.equal(await sweep(), 0);
  assert.equal(directory.get(addresses[0] ?? assert.fail()), 'default:7');
});
