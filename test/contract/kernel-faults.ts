import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { type Address, addressOf } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { type Runtime, type RuntimeParts, startRuntime } from '../../runtime/runtime.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { FaultyStore, seeded } from '../support/faulty-store.ts';
import { waitUntil } from '../support/wait-until.ts';
import { RecordedDeliveries } from './recorded-deliveries.ts';

export interface FaultStores {
  readonly store: ActorStore;
  readonly documents: RuntimeParts['documents'];
  readonly blobs: RuntimeParts['blobs'];
  close(): Promise<void>;
}

export interface FaultRun {
  readonly clients: number;
  /** Calls of each client, one after another. */
  readonly calls: number;
}

const PARTITIONS = 3;
const COUNTERS = 8;

/** Expected states of the actors, from the calls that were made. */
class Expectation {
  readonly values = new Map<Address, number>();
  readonly forwards = new Map<Address, number>();
  readonly jobs = new Map<Address, { status: string; value: Json }>();
  readonly replies = new Map<Address, number[]>();
  broken = 0;

  add(to: Address, by: number): void {
    this.values.set(to, (this.values.get(to) ?? 0) + by);
  }
}

/** Random ids that follow from a seed. */
function idsOf(random: () => number): () => string {
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
  return () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
}

/**
 * The kernel under faults of its store (K9): whatever fails between the kernel and the store, every answered call is counted
 * once, nothing is lost, and streams have no gaps. `SVC_SEED` repeats a run.
 */
export function kernelFaults(name: string, make: () => Promise<FaultStores>, run: FaultRun): void {
  const seed = Number(process.env.SVC_SEED ?? Math.floor(Math.random() * 2 ** 31));
  test(`${name}: calls repeated through faults are counted once and nothing is lost (SVC_SEED=${seed})`, async () => {
    const stores = await make();
    const rates = { executedThenTimedOut: 0, notExecuted: 0, disconnected: 0, leaseLost: 0 };
    const recorded = new RecordedDeliveries();
    const store = new FaultyStore(stores.store, {
      seed,
      otherwise: rates,
      disconnectedCalls: 8,
      committed: (commit, outcome) => recorded.committed(commit, outcome),
    });
    const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
    await effects.open();
    const warnings: string[] = [];
    const runtime = await startRuntime({
      ...stores,
      store,
      effects,
      definitions: [counter, job],
      handlers: [workEffect({ begun: [], aborted: [] })],
      node: 'node-a',
      settings: {
        partitions: PARTITIONS,
        systemPartitions: 1,
        pollMs: 50,
        leaseRenewMs: 40,
        // Shorter than the time between two renewals: partitions often share a log, and often have their own.
        shareAfterMs: 20,
        // Any two inputs make two batches: one runs while the other is written.
        overlapMs: 0,
        retry: { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 20 },
      },
      warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
    });
    try {
      const expected = new Expectation();
      const random = seeded(seed);
      Object.assign(rates, {
        executedThenTimedOut: 0.01 + random() * 0.03,
        notExecuted: 0.01 + random() * 0.03,
        disconnected: 0.01,
        leaseLost: 0.08,
      });
      const programs = Array.from({ length: run.clients }, () =>
        program(runtime, seeded(random() * 2 ** 31), expected, run),
      );
      await Promise.all(programs.map((play) => play()));
      store.heal();
      const struck = Object.values(store.struck).reduce((sum, count) => sum + count, 0);
      assert.ok(struck > 0, 'faults occurred');
      await settled(runtime, expected);
      await streamsHaveNoGaps(runtime, expected);
      await everyMailboxIsRead(stores.store);
      await deadLettersAreWhole(stores, expected);
      await recorded.areAll(stores.documents);
    } catch (thrown) {
      console.error(warnings.slice(-10).join('\n'));
      throw thrown;
    } finally {
      store.heal();
      await runtime.stop();
      await effects.close();
      await stores.close();
    }
  });
}

/** One client: random calls, each repeated with its id until it is answered. */
function program(runtime: Runtime, random: () => number, expected: Expectation, { calls }: FaultRun) {
  const pick = (below: number): number => Math.floor(random() * below);
  const newId = idsOf(random);
  const shared = (): Address => addressOf('counter', 'acme', `shared-${pick(COUNTERS)}`);
  const call = async (to: Address, type: string, payload: Json): Promise<Json> => {
    const messageId = newId();
    for (;;) {
      try {
        return await runtime.client.ask(to, type, payload, { messageId, timeoutMs: 500 });
      } catch (thrown) {
        if (!(thrown instanceof SvcError) || thrown.row.kind !== 'retry') throw thrown;
      }
    }
  };
  const add = async (): Promise<void> => {
    const to = shared();
    const by = 1 + pick(9);
    expected.add(to, by);
    const value = await call(to, 'Add', { by });
    expected.replies.set(to, [...(expected.replies.get(to) ?? []), z.number().parse(value)]);
  };
  const forward = async (): Promise<void> => {
    const from = shared();
    const to = shared();
    const by = 1 + pick(9);
    expected.add(to, by);
    expected.forwards.set(from, (expected.forwards.get(from) ?? 0) + 1);
    await call(from, 'Forward', { to: to.split('/')[2] ?? '', by });
  };
  const later = async (): Promise<void> => {
    const to = addressOf('counter', 'acme', newId());
    expected.add(to, 5);
    await call(to, 'AddLater', { by: 5, afterMs: pick(200) });
  };
  const work = async (): Promise<void> => {
    const to = addressOf('job', 'acme', newId());
    const isFatal = random() < 0.2;
    const value = isFatal ? null : pick(1_000);
    expected.jobs.set(to, { status: isFatal ? 'failed' : 'done', value });
    await call(to, 'Run', { input: { value, fatal: isFatal, failTimes: isFatal ? 0 : pick(2) } });
  };
  const breaks = async (): Promise<void> => {
    const to = shared();
    expected.broken += 1;
    await assert.rejects(call(to, 'Break', { times: 1 }), { code: 'dead_lettered' });
  };
  return async (): Promise<void> => {
    for (let index = 0; index < calls; index += 1) {
      const dice = random();
      if (dice < 0.5) await add();
      else if (dice < 0.7) await forward();
      else if (dice < 0.82) await later();
      else if (dice < 0.95) await work();
      else await breaks();
    }
  };
}

async function settled(runtime: Runtime, expected: Expectation): Promise<void> {
  for (const [address, value] of expected.values) {
    const asks = (expected.forwards.get(address) ?? 0) * 101;
    let seen: unknown;
    await waitUntil(`${address} to come to ${value}`, async () => {
      const state = counter.state.safeParse((await runtime.client.read(address))?.state);
      seen = state.data;
      return state.data?.value === value && (asks === 0 || state.data.asks === asks);
    }).catch((thrown: unknown) => {
      throw new Error(`${String(thrown)}, asks ${asks}; it came to ${JSON.stringify(seen)}`);
    });
  }
  for (const [address, { status, value }] of expected.jobs) {
    let seen: unknown;
    await waitUntil(`${address} to be ${status}`, async () => {
      seen = (await runtime.client.read(address))?.state;
      const state = job.state.safeParse(seen);
      return state.data?.status === status && JSON.stringify(state.data.result) === JSON.stringify(value);
    }).catch((thrown: unknown) => {
      throw new Error(`${String(thrown)}; it came to ${JSON.stringify(seen)}`);
    });
  }
}

async function streamsHaveNoGaps(runtime: Runtime, expected: Expectation): Promise<void> {
  for (const [address, value] of expected.values) {
    const events = await runtime.client.events(address, 0, 10_000);
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, index) => index + 1),
      `the stream of ${address} has no gap`,
    );
    const amounts = z.array(z.object({ by: z.number() })).parse(events.map(({ payload }) => payload));
    assert.equal(
      amounts.reduce((sum, { by }) => sum + by, 0),
      value,
      `the events of ${address} add up`,
    );
    const replies = expected.replies.get(address) ?? [];
    assert.equal(new Set(replies).size, replies.length, `every answer of ${address} is an addition of its own`);
  }
  for (const address of expected.jobs.keys()) {
    const names = (await runtime.client.events(address, 0, 100)).map(({ seq, name }) => `${seq} ${name}`);
    assert.deepEqual(names, ['1 started', '2 ended'], address);
  }
}

async function everyMailboxIsRead(store: ActorStore): Promise<void> {
  for (let index = 0; index < PARTITIONS; index += 1) {
    await waitUntil(`default:${index} to be read to its tail`, async () => {
      const { cursor, tail, oldestAt } = await store.backlog(`default:${index}`);
      return cursor === tail && oldestAt === null;
    });
  }
}

/** Only broken handlers have dead letters (K6). */
async function deadLettersAreWhole({ documents }: FaultStores, expected: Expectation): Promise<void> {
  const letters = await documents.collection({ name: 'dead_letters', unique: [], indexes: [] });
  await waitUntil('the dead letters', async () => (await letters.count({ tenant: null })) >= expected.broken);
  assert.equal(await letters.count({ tenant: null }), expected.broken);
}
