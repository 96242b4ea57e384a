import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { ActorStore, Commit } from '../../runtime/actor-store.ts';
import { type Address, addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { defineEffect, EffectResult } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const MESSAGES = 60;
const turns = { run: 0 };

/** Counts what it heard. */
const tally = defineActor({
  kind: 'tally',
  version: 1,
  state: z.object({ heard: z.array(z.number()) }),
  initial: () => ({ heard: [] }),
  messages: {
    Hear: z.object({ n: z.number() }),
    Break: z.object({}),
    Ask: z.object({}),
    Answered: EffectResult,
  },
  events: {},
  on: {
    Hear({ heard }, { n }, turn) {
      turns.run += 1;
      turn.reply(heard.length + 1);
      return { heard: [...heard, n] };
    },
    Break() {
      throw new Error('this handler is broken');
    },
    Ask(state, _, turn) {
      turn.effect({ kind: 'test.look', mode: 'repeatable', ahead: true, input: {}, replyAs: 'Answered' });
      turn.reply(null);
      return state;
    },
    /** Heard as -1. */
    Answered: ({ heard }) => ({ heard: [...heard, -1] }),
  },
});

const look = defineEffect({ kind: 'test.look', input: z.object({}), run: async () => null });

/** What the store does with a commit, in the order in which they come; those behind the last are written. */
type Fate = (write: () => ReturnType<ActorStore['commit']>, commit: Commit) => ReturnType<ActorStore['commit']>;

interface Scene {
  readonly node: KernelNode;
  /** The commits that had entries of the mailbox, since the gate was opened. */
  readonly commits: Commit[];
  /** Nothing is read from the mailbox until `open`. */
  readonly hold: () => void;
  readonly open: (...fates: readonly Fate[]) => void;
}

async function withScene(use: (scene: Scene) => Promise<void>): Promise<void> {
  let held = Promise.withResolvers<void>();
  held.resolve();
  const commits: Commit[] = [];
  const fates: Fate[] = [];
  const node = await startKernelNode({
    definitions: [tally],
    handlers: [look],
    settings: { mailboxBound: 10_000, leaseTtlMs: 1_000, retry: { maxAttempts: 2, initialDelayMs: 5, maxDelayMs: 20 } },
    store: (inner) => ({
      async poll(asks, limit) {
        await held.promise;
        return inner.poll(asks, limit);
      },
      commit(commit, readAhead) {
        const write = () => inner.commit(commit, readAhead);
        if (commit.upTo === commit.after) return write();
        commits.push(commit);
        return (fates.shift() ?? ((next) => next()))(write, commit);
      },
    }),
  });
  try {
    await use({
      ...{ node, commits },
      hold() {
        held = Promise.withResolvers<void>();
        turns.run = 0;
      },
      open(...wanted) {
        fates.push(...wanted);
        commits.splice(0);
        held.resolve();
      },
    });
  } finally {
    held.resolve();
    await node.stop();
  }
}

const named = (id: string): Address => addressOf('tally', 'acme', id);

async function heardBy({ node }: Scene, address: Address): Promise<Json> {
  const snapshot = await node.runtime.client.read(address);
  return snapshot === null ? null : tally.state.parse(snapshot.state).heard;
}

const numbers = Array.from({ length: MESSAGES }, (_, n) => n);

/** All are in the mailbox when this resolves. */
async function sent(scene: Scene, to: (n: number) => Address): Promise<Promise<Json>[]> {
  const asks = numbers.map((n) => scene.node.runtime.client.ask(to(n), 'Hear', { n }));
  await waiting(scene, MESSAGES);
  return asks;
}

const waiting = ({ node }: Scene, count: number) =>
  waitUntil(`${count} messages are in the mailbox`, async () => {
    const { tail, cursor } = await node.store.backlog('default:0');
    return tail - cursor >= count ? true : null;
  });

test('turns of the second half run while the commit of the first is being written', () =>
  withScene(async (scene) => {
    scene.hold();
    const asks = await sent(scene, (n) => named(`each-${n}`));
    const written = Promise.withResolvers<void>();
    scene.open(async (write) => {
      await written.promise;
      return write();
    });
    await waitUntil('all turns have run', () => (turns.run === MESSAGES ? true : null));
    assert.equal(scene.commits.length, 1, 'and one commit is on its way');
    written.resolve();
    assert.deepEqual(await Promise.all(asks), Array(MESSAGES).fill(1));
    assert.deepEqual(
      scene.commits.map(({ after, upTo }) => upTo - after),
      [MESSAGES / 2, MESSAGES / 2],
    );
  }));

test('they see an actor as the commit that is on its way leaves it', () =>
  withScene(async (scene) => {
    scene.hold();
    const asks = await sent(scene, () => named('hot'));
    scene.open();
    assert.deepEqual(
      await Promise.all(asks),
      numbers.map((n) => n + 1),
    );
    assert.equal(scene.commits.length, 2);
    assert.equal(turns.run, MESSAGES, 'each turn ran once');
    assert.deepEqual(await heardBy(scene, named('hot')), numbers);
  }));

const refused: Readonly<Record<string, Fate>> = {
  'that the store refuses': () => Promise.reject(new SvcError('invalid_argument', 'a row is too long')),
  'under a lease that was lost': async () => ({ kind: 'fenced' }),
};
for (const [what, fate] of Object.entries(refused)) {
  test(`of a first commit ${what} nothing is written, and what was made on top of it counts for nothing`, () =>
    withScene(async (scene) => {
      scene.hold();
      const asks = await sent(scene, () => named('hot'));
      scene.open(fate);
      assert.deepEqual(
        await Promise.all(asks),
        numbers.map((n) => n + 1),
      );
      assert.ok(turns.run > MESSAGES, 'turns ran again');
      assert.deepEqual(await heardBy(scene, named('hot')), numbers);
    }));

  test(`of a second commit ${what} nothing is written, and the first stands`, () =>
    withScene(async (scene) => {
      scene.hold();
      const asks = await sent(scene, () => named('hot'));
      scene.open((write) => write(), fate);
      assert.deepEqual(
        await Promise.all(asks),
        numbers.map((n) => n + 1),
      );
      assert.deepEqual(await heardBy(scene, named('hot')), numbers);
    }));
}

test('a first commit whose answer is lost is written once', () =>
  withScene(async (scene) => {
    scene.hold();
    const asks = await sent(scene, () => named('hot'));
    scene.open(async (write) => {
      await write();
      throw new SvcError('unavailable', 'the answer was lost', { store: 'actors' });
    });
    assert.deepEqual(
      await Promise.all(asks),
      numbers.map((n) => n + 1),
    );
    assert.deepEqual(await heardBy(scene, named('hot')), numbers);
  }));

test('a message that fails in the second half is dead-lettered, and those around it are handled', () =>
  withScene(async (scene) => {
    scene.hold();
    const broken = assert.rejects(scene.node.runtime.client.ask(named('broken'), 'Break', {}), {
      code: 'dead_lettered',
    });
    const asks = await sent(scene, (n) => named(n % 2 === 0 ? 'hot' : `each-${n}`));
    const last = assert.rejects(scene.node.runtime.client.ask(named('broken'), 'Break', {}), { code: 'dead_lettered' });
    scene.open();
    await Promise.all([...asks, broken, last]);
    assert.deepEqual(
      await heardBy(scene, named('hot')),
      numbers.filter((n) => n % 2 === 0),
    );
  }));

for (const at of [0, MESSAGES - 1]) {
  test(`message ${at + 1} of ${MESSAGES} can never be written: it is dead-lettered, and all others are handled`, () =>
    withScene(async (scene) => {
      scene.hold();
      const asks = await sent(scene, (n) => named(`each-${n}`));
      const refuse: Fate = (write, { records }) =>
        records.some(({ record }) => record?.includes(`[${at}]`) === true)
          ? Promise.reject(new SvcError('invalid_argument', 'a row is too long'))
          : write();
      scene.open(...Array(100).fill(refuse));
      const answers = await Promise.allSettled(asks);
      assert.deepEqual(
        answers.map(({ status }) => status),
        numbers.map((n) => (n === at ? 'rejected' : 'fulfilled')),
      );
    }));
}

test('an effect that the second half runs ahead of its commit is handled once', () =>
  withScene(async (scene) => {
    scene.hold();
    const asks = await sent(scene, () => named('hot'));
    const asked = scene.node.runtime.client.ask(named('asks'), 'Ask', {});
    await waiting(scene, MESSAGES + 1);
    scene.open();
    await Promise.all([...asks, asked]);
    assert.equal(scene.commits.at(-1)?.results, 1, 'its result is handled by the same commit');
    await waitUntil('the effect has ended', async () => {
      const heard = await heardBy(scene, named('asks'));
      return Array.isArray(heard) && heard.length > 0 ? heard : null;
    });
    assert.deepEqual(await heardBy(scene, named('asks')), [-1]);
    assert.deepEqual(await heardBy(scene, named('hot')), numbers);
  }));
