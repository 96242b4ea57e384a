import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { type Address, addressOf, type Partition } from '../../runtime/address.ts';
import type { Blobs } from '../../runtime/blobs.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Documents } from '../../runtime/documents.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { type Runtime, startRuntime } from '../../runtime/runtime.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { seeded } from '../support/faulty-store.ts';
import { waitUntil } from '../support/wait-until.ts';

/** A store behind an unreliable connection that may return to an older state, for a suite of histories. */
export interface HistoryStores {
  readonly documents: Documents;
  readonly blobs: Blobs;
  /** The store as one process has it, over the unreliable connection. */
  open(): Promise<ActorStore>;
  /** The same data over a reliable connection. */
  readonly direct: () => ActorStore;
  /** From here on calls arrive twice, late, without an answer, or not at all; the seed decides. */
  disturb(): void;
  /** Ends all faults; calls under way have arrived when it resolves. */
  calm(): Promise<void>;
  /** Marks the present state of the store, to which `goBack` returns it. */
  mark(): Promise<void>;
  /** The store loses all writes after the mark, as in a restart. */
  goBack(): Promise<void>;
  /** The store is in the process of its nodes, which are stopped before it goes back and started afterwards. */
  readonly inProcess: boolean;
  close(): Promise<void>;
}

interface Acknowledged {
  readonly by: number;
  readonly to: Address;
}

const NO_ONE = addressOf('counter', 'acme', 'no-one');
const PARTITIONS = 3;
const CLIENTS = 4;
const CALLS = 14;
const QUIET_WITHIN_MS = 30_000;
const PARTITIONS_HELD: readonly Partition[] = ['default:0', 'default:1', 'default:2'];

/** Seeds to run: `SVC_SEED` alone, or as many as `SVC_HISTORIES` says. */
function seedsOf(usual: number): number[] {
  if (process.env.SVC_SEED !== undefined) return [Number(process.env.SVC_SEED)];
  return Array.from({ length: Number(process.env.SVC_HISTORIES ?? usual) }, (_, at) => at + 1);
}

/**
 * Histories of a kernel over a store that receives calls twice, late or without an answer, that gives leases to others and
 * returns to older states; then silence. Without further calls everything that was acknowledged and kept is handled, once; all
 * mailboxes are read to their end, all timers have fired, all effects have ended. Works with any store.
 */
export function storeHistories(name: string, make: (random: () => number) => Promise<HistoryStores>, usual: number) {
  for (const seed of seedsOf(usual)) {
    test(`${name}: after faults and a quiet period each acknowledged, kept message is handled once (SVC_SEED=${seed})`, async () => {
      const random = seeded(seed);
      const stores = await make(seeded(seed + 7_919));
      try {
        await play(stores, random);
      } finally {
        await stores.close();
      }
    });
  }
}

/** One process that serves, with its own store. */
async function startNode(stores: HistoryStores, warnings: string[]) {
  const store = await stores.open();
  const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
  await effects.open();
  const runtime = await startRuntime({
    ...{ store, documents: stores.documents, blobs: stores.blobs, effects, node: 'node-a' },
    definitions: [counter, job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    settings: {
      partitions: PARTITIONS,
      systemPartitions: 1,
      pollMs: 60,
      leaseRenewMs: 80,
      // Often alone, often together.
      shareAfterMs: 20,
      retry: { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 20 },
    },
    warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
  });
  return {
    runtime,
    async stop() {
      await runtime.stop();
      await effects.close();
      await store.close();
    },
  };
}

async function play(stores: HistoryStores, random: () => number): Promise<void> {
  const warnings: string[] = [];
  let node = await startNode(stores, warnings);
  const counters = Array.from({ length: 6 }, (_, at) => addressOf('counter', 'acme', `c${at}`));
  const acknowledged: Acknowledged[] = [];
  const jobs: Address[] = [];
  let kept: { readonly calls: number; readonly jobs: number } | null = null;
  let numbers = 0;
  let over = false;
  /** No further calls are made. */
  let silent = false;
  const pick = (below: number): number => Math.floor(random() * below);
  /** Repeats an ask under one id, or makes it once without; returns whether it was acknowledged. */
  const insist = async (to: Address, type: string, payload: Json): Promise<boolean> => {
    const named = random() < 0.5 ? { messageId: randomUUID() } : {};
    while (!silent) {
      try {
        await node.runtime.client.ask(to, type, payload, { ...named, timeoutMs: 2_000 });
        return true;
      } catch (thrown) {
        if (!(thrown instanceof SvcError) || !['unavailable', 'deadline_exceeded'].includes(thrown.code)) throw thrown;
        if (named.messageId === undefined) return false;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
    return false;
  };
  const call = async (): Promise<void> => {
    const [to = '', other = ''] = [counters[pick(counters.length)], counters[pick(counters.length)]];
    numbers += 1;
    const by = numbers;
    const dice = random();
    const [type, payload]: [string, Json] =
      dice < 0.5
        ? ['Add', { by }]
        : dice < 0.75
          ? ['AddLater', { by, afterMs: pick(300) }]
          : ['Forward', { to: (other || '').split('/')[2] ?? '', by }];
    const target = type === 'AddLater' ? addressOf('counter', 'acme', `later-${by}`) : to;
    if (target === '') return;
    if (await insist(target, type, payload))
      acknowledged.push({ by, to: type === 'Forward' && other !== '' ? other : target });
  };
  const work = async (): Promise<void> => {
    const to = addressOf('job', 'acme', randomUUID());
    const ahead = jobs.length % 2 === 0;
    if (await insist(to, 'Run', { input: { value: 1, failTimes: pick(2) }, ahead })) jobs.push(to);
  };
  const client = async (): Promise<void> => {
    for (let turn = 0; turn < CALLS && !silent; turn += 1) await (random() < 0.85 ? call() : work());
  };
  /** Other nodes acquire the lease in between. */
  const otherNodes = async (): Promise<void> => {
    while (!over) {
      await new Promise((resolve) => setTimeout(resolve, 50 + pick(200)));
      const logs = stores.direct().sharedLogs;
      for (const log of (await logs?.list().catch(() => [])) ?? [])
        if (random() < 0.5) await logs?.adopt(log, 'node-a', randomUUID(), 1).catch(() => null);
      const partition = PARTITIONS_HELD[pick(PARTITIONS)] ?? 'default:0';
      const got = await stores
        .direct()
        .acquire(partition, 'node-a', randomUUID(), 60_000)
        .catch(() => null);
      if (got?.kind === 'granted')
        await stores
          .direct()
          .release(got.lease)
          .catch(() => undefined);
    }
  };
  const goesBack = random() < 0.6;
  stores.disturb();
  const acquiring = stores.inProcess ? Promise.resolve() : otherNodes();
  try {
    const playing = Promise.all(Array.from({ length: CLIENTS }, client));
    if (goesBack) {
      await waitUntil('some calls to be acknowledged', () => acknowledged.length > 8 + pick(10), 60_000);
      kept = { calls: acknowledged.length, jobs: jobs.length };
      await stores.mark();
      const more = acknowledged.length + pick(12);
      await waitUntil('further calls to be acknowledged', () => acknowledged.length >= more, 60_000);
      if (stores.inProcess) {
        await playing;
        await stores.calm();
        await node.stop();
      }
      // Further calls would hide what stays unread: in most histories there are none.
      silent = stores.inProcess || random() < 0.8;
      await stores.goBack();
      if (stores.inProcess) node = await startNode(stores, warnings);
    }
    await playing;
  } finally {
    over = true;
    await acquiring;
  }
  await stores.calm();
  const sure = acknowledged.slice(0, kept?.calls ?? acknowledged.length);
  const sureJobs = jobs.slice(0, kept?.jobs ?? jobs.length);
  try {
    await quiet(stores, node.runtime);
    await check(node.runtime, [...new Set([...counters, ...acknowledged.map(({ to }) => to)])], sure, sureJobs);
  } catch (thrown) {
    console.error(warnings.slice(-12).join('\n'));
    throw thrown;
  } finally {
    await node.stop();
  }
}

/** Waits without calls until everything in the store has been handled. */
async function quiet(stores: HistoryStores, runtime: Runtime): Promise<void> {
  const store = stores.direct();
  await waitUntil('the node reaches its store', () =>
    runtime.client.read(NO_ONE).then(
      () => true,
      () => false,
    ),
  );
  let seen = '';
  await waitUntil(
    'no work to be left',
    async () => {
      const open = await Promise.all(PARTITIONS_HELD.map((partition) => store.openEffects(partition)));
      const backlogs = await Promise.all(PARTITIONS_HELD.map((partition) => store.backlog(partition)));
      seen = JSON.stringify({ open, backlogs });
      return open.every((rows) => rows.length === 0) && backlogs.every(({ cursor, tail }) => cursor === tail);
    },
    QUIET_WITHIN_MS,
  ).catch((thrown: unknown) => assert.fail(`${String(thrown)}: ${seen}`));
  assert.deepEqual(runtime.unread(), []);
}

const Added = z.object({ by: z.number() });

async function check(
  runtime: Runtime,
  counters: readonly Address[],
  sure: readonly Acknowledged[],
  jobs: readonly Address[],
): Promise<void> {
  const { client } = runtime;
  const added = async (address: Address): Promise<number[]> => {
    const events = await client.events(address, 0, 10_000);
    const numbers = events.map(({ seq }) => seq);
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => at + 1),
      `the stream of ${address} has no gap`,
    );
    return events.map(({ payload }) => Added.parse(payload).by);
  };
  const missing = async (): Promise<Acknowledged[]> => {
    const found: Acknowledged[] = [];
    for (const one of sure) if (!(await added(one.to)).includes(one.by)) found.push(one);
    return found;
  };
  await waitUntil('every kept call', async () => (await missing()).length === 0, QUIET_WITHIN_MS).catch(async () =>
    assert.fail(`acknowledged, kept and not handled: ${JSON.stringify(await missing())}`),
  );
  for (const address of counters) {
    const list = await added(address);
    assert.equal(new Set(list).size, list.length, `${address} counted something twice: ${list.join(' ')}`);
    const value = counter.state.safeParse((await client.read(address))?.state).data?.value ?? 0;
    const sum = list.reduce((total, by) => total + by, 0);
    assert.equal(value, sum, `${address} has the sum of its events`);
  }
  const statusOf = async (address: Address) => job.state.safeParse((await client.read(address))?.state).data?.status;
  for (const address of jobs)
    await waitUntil(`${address} is done`, async () => (await statusOf(address)) === 'done', QUIET_WITHIN_MS);
}
