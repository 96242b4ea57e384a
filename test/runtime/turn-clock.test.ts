import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { approvalActor } from '../../actors/approval/definition.ts';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { addressOf } from '../../runtime/address.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { type ActorDefinition, defineActor } from '../../runtime/define-actor.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { type Runtime, startRuntime } from '../../runtime/runtime.ts';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { counter } from '../support/actors.ts';
import { waitUntil } from '../support/wait-until.ts';

/** A clock that is off by `aheadMs`, which may change. */
const offBy = (off: { aheadMs: number }): Clock => ({ ...systemClock, now: () => systemClock.now() + off.aheadMs });

const watch = defineActor({
  kind: 'watch',
  version: 1,
  state: z.object({ times: z.array(z.number()) }),
  initial: () => ({ times: [] }),
  messages: { Look: z.object({}) },
  events: {},
  on: {
    Look(state, _, turn) {
      turn.reply(turn.now);
      return { times: [...state.times, turn.now] };
    },
  },
});

interface Setup {
  readonly store: ActorStore;
  /** One node after another over the same data, each with a clock of its own. */
  node(clock: Clock, use: (runtime: Runtime) => Promise<void>, bend?: Partial<ActorStore>): Promise<void>;
}

async function setup(clock: Clock, use: (setup: Setup) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-turn-clock-'));
  const store = new SqliteActorStore({ directory, clock });
  const [documents, blobs] = [new SqliteDocuments({ directory }), new FileBlobs({ directory })];
  await Promise.all([store.open(), documents.open(), blobs.open()]);
  const definitions: ActorDefinition[] = [approvalActor, counter, watch];
  const settings = { partitions: 1, systemPartitions: 1, pollMs: 100, leaseRenewMs: 200 };
  try {
    await use({
      store,
      async node(own, act, bend = {}) {
        const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
        await effects.open();
        const seen = Object.assign(Object.create(store), bend);
        const ports = { store: seen, documents, blobs, effects };
        const made = { definitions, handlers: [], node: 'node-a', settings, clock: own, warn: () => {} };
        const runtime = await startRuntime({ ...ports, ...made });
        try {
          await act(runtime);
        } finally {
          await runtime.stop();
          await effects.close();
        }
      },
    });
  } finally {
    await Promise.all([store.close(), documents.close(), blobs.close()]);
    await rm(directory, { recursive: true, force: true });
  }
}

test('a node whose clock is four minutes ahead takes an answer to an approval that has three minutes left', () =>
  setup(systemClock, async ({ node }) => {
    const to = addressOf('approval', 'acme', 'a1');
    const ask = { approval_id: 'a1', execution_id: 'e1', state_name: 'ask', prompt: '?', timeout_ms: 180_000 };
    const notify = { to: addressOf('counter', 'acme', 'asker'), as: 'Answered', context: null };
    await node(systemClock, async ({ client }) => {
      await client.ask(to, 'Ask', { ...ask, default_response: null, notify });
    });
    await node(offBy({ aheadMs: 240_000 }), async ({ client }) => {
      await client.ask(to, 'Answer', { payload: 'yes', feedback: null, by: null });
    });
  }));

test('turns run on the clock of the store and never go back, whatever the clocks of their nodes do', () =>
  setup(systemClock, async ({ node, store }) => {
    const to = addressOf('watch', 'acme', 'one');
    const times: number[] = [];
    const look = async ({ client }: Runtime): Promise<void> => {
      const before = await store.now();
      const time = z.number().parse(await client.ask(to, 'Look', {}));
      assert.ok(time >= before - 50 && time <= (await store.now()), `${time} is not the store's time`);
      times.push(time);
    };
    for (const aheadMs of [0, 86_400_000, -86_400_000, 500, -500]) {
      const off = { aheadMs };
      await node(offBy(off), async (runtime) => {
        await look(runtime);
        off.aheadMs -= 3_600_000;
        await look(runtime);
        off.aheadMs += 7_200_000;
        await look(runtime);
      });
    }
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
  }));

test('a timer on a server whose clock is behind the others is fired once it is due there, without asking again and again', () => {
  const behind = { aheadMs: -2_000 };
  return setup(offBy(behind), async ({ node, store }) => {
    const to = addressOf('counter', 'acme', 'one');
    let asked = 0;
    const bend: Partial<ActorStore> = {
      now: async (partition) => (partition === undefined ? systemClock.now() : store.now(partition)),
      async fireTimers(leases) {
        asked += 1;
        return store.fireTimers(leases);
      },
    };
    await node(
      systemClock,
      async ({ client }) => {
        const valueNow = async () => counter.state.safeParse((await client.read(to))?.state).data?.value;
        await client.tell(to, 'AddLater', { by: 5, afterMs: 500 });
        await waitUntil('the timer', async () => (await valueNow()) === 5);
        await client.tell(to, 'AddLater', { by: 5, afterMs: 700 });
        await waitUntil(
          'it is set',
          async () => counter.state.safeParse((await client.read(to))?.state).data?.asks === 2,
        );
        behind.aheadMs -= 1_000;
        await waitUntil('the timer, later since the clock was set back', async () => (await valueNow()) === 10);
        assert.ok(asked < 12, `asked ${asked} times`);
      },
      bend,
    );
  });
});
