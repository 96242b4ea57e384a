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

/** Counts turns of `Hear` and of results since the mailbox was held. */
const turns = { heard: 0, answered: 0 };

/** Records the numbers that it received; -1 stands for the result of an effect. */
const tally = defineActor({
  kind: 'tally',
  version: 1,
  state: z.object({ heard: z.array(z.number()) }),
  initial: () => ({ heard: [] }),
  messages: {
    Hear: z.object({ n: z.number() }),
    Break: z.object({}),
    Ask: z.object({ mode: z.enum(['once', 'repeatable']) }),
    Answered: EffectResult,
  },
  events: {},
  on: {
    Hear({ heard }, { n }, turn) {
      turns.heard += 1;
      turn.reply(heard.length + 1);
      return { heard: [...heard, n] };
    },
    Break() {
      throw new Error('this handler is broken');
    },
    Ask(state, { mode }, turn) {
      turn.effect({ kind: 'test.look', mode, ahead: true, input: {}, replyAs: 'Answered' });
      turn.reply(null);
      return state;
    },
    Answered({ heard }) {
      turns.answered += 1;
      return { heard: [...heard, -1] };
    },
  },
});

/** What the store does with a commit. */
type Fate = (write: () => ReturnType<ActorStore['commit']>, commit: Commit) => ReturnType<ActorStore['commit']>;

interface BentKernel extends AsyncDisposable {
  readonly node: KernelNode;
  /** Commits since the mailbox was opened. */
  readonly commits: Commit[];
  /** Commits and effects, as they begin. */
  readonly begun: ('commit' | 'effect')[];
  /** Keeps the kernel from reading its mailbox until `open`. */
  hold(): void;
  /** Opens the mailbox. The fates are those of the next commits; later ones are written. */
  open(...fates: readonly Fate[]): void;
  /** Sets the fates of the next commits. */
  bend(...fates: readonly Fate[]): void;
  /** Lets effects end. */
  answer(): void;
}

/** A kernel in which any two inputs are worth two batches. */
async function bentKernel(): Promise<BentKernel> {
  let held = Promise.withResolvers<void>();
  held.resolve();
  const answers = Promise.withResolvers<void>();
  const commits: Commit[] = [];
  const begun: BentKernel['begun'] = [];
  const fates: Fate[] = [];
  const look = defineEffect({
    kind: 'test.look',
    input: z.object({}),
    run: () => {
      begun.push('effect');
      return answers.promise.then(() => null);
    },
  });
  const node = await startKernelNode({
    definitions: [tally],
    handlers: [look],
    settings: {
      overlapMs: 0,
      mailboxBound: 10_000,
      leaseTtlMs: 1_000,
      effectConcurrency: 4 * MESSAGES,
      retry: { maxAttempts: 2, initialDelayMs: 5, maxDelayMs: 20 },
    },
    store: (inner) => ({
      async poll(asks, limit) {
        await held.promise;
        return inner.poll(asks, limit);
      },
      commit(commit, readAhead) {
        const write = () => inner.commit(commit, readAhead);
        commits.push(commit);
        begun.push('commit');
        return (fates.shift() ?? ((next) => next()))(write, commit);
      },
    }),
  });
  return {
    ...{ node, commits, begun },
    hold() {
      held = Promise.withResolvers<void>();
      Object.assign(turns, { heard: 0, answered: 0 });
    },
    open(...wanted) {
      commits.splice(0);
      fates.push(...wanted);
      held.resolve();
    },
    bend: (...wanted) => void fates.push(...wanted),
    answer: () => answers.resolve(),
    async [Symbol.asyncDispose]() {
      held.resolve();
      answers.resolve();
      await node.stop();
    },
  };
}

const named = (id: string): Address => addressOf('tally', 'acme', id);
const each = (n: number): Address => named(`each-${n}`);
const numbers = Array.from({ length: MESSAGES }, (_, n) => n);

async function heardBy({ node }: BentKernel, address: Address): Promise<Json> {
  const snapshot = await node.runtime.client.read(address);
  return snapshot === null ? null : tally.state.parse(snapshot.state).heard;
}

const waiting = ({ node }: BentKernel, count: number) =>
  waitUntil(`${count} messages to be in the mailbox`, async () => {
    const { tail, cursor } = await node.store.backlog('default:0');
    return tail - cursor >= count ? true : null;
  });

/** Asks an actor for each number. All messages are in the mailbox when this resolves. */
async function sent(kernel: BentKernel, to: (n: number) => Address): Promise<Promise<Json>[]> {
  const asks = numbers.map((n) => kernel.node.runtime.client.ask(to(n), 'Hear', { n }));
  for (const ask of asks) ask.catch(() => {});
  await waiting(kernel, MESSAGES);
  return asks;
}

/** Begins a `once` effect for each number. All of them run when this resolves, and end with `answer`. */
async function effectsRunning(kernel: BentKernel, of: (n: number) => Address = each): Promise<void> {
  await Promise.all(numbers.map((n) => kernel.node.runtime.client.ask(of(n), 'Ask', { mode: 'once' })));
}

const allAnswered = (kernel: BentKernel) =>
  waitUntil('each actor to have its result', async () => {
    const heard = await Promise.all(numbers.map((n) => heardBy(kernel, each(n))));
    return heard.every((one) => Array.isArray(one) && one.length > 0) ? true : null;
  });

const write: Fate = (write) => write();

/** Turns of the event loop in which a second batch has run for long. */
const MANY_TURNS = 100;

/** A fate that comes when the next batch is ready. */
const late =
  (fate: Fate): Fate =>
  async (write, commit) => {
    for (let turn = 0; turn < MANY_TURNS; turn += 1) await new Promise((resume) => setImmediate(resume));
    return fate(write, commit);
  };

const held =
  (until: Promise<void>): Fate =>
  async (write) => {
    await until;
    return write();
  };

/** Runs the turns of all results while the commit of the first is held. That is written when the returned promise is resolved. */
async function resultsBesideACommit(kernel: BentKernel): Promise<PromiseWithResolvers<void>> {
  await effectsRunning(kernel);
  kernel.hold();
  const written = Promise.withResolvers<void>();
  kernel.open(held(written.promise));
  kernel.answer();
  await waitUntil('all turns of results to have run', () => (turns.answered === MESSAGES ? true : null));
  return written;
}

test('turns of other actors run while a commit is written, and are written after it', async () => {
  await using kernel = await bentKernel();
  kernel.hold();
  const asks = await sent(kernel, each);
  const written = Promise.withResolvers<void>();
  kernel.open(held(written.promise));
  await waitUntil('all turns to have run', () => (turns.heard === MESSAGES ? true : null));
  assert.equal(kernel.commits.length, 1, 'one commit is under way');
  written.resolve();
  assert.deepEqual(await Promise.all(asks), Array(MESSAGES).fill(1));
  assert.deepEqual(
    kernel.commits.slice(0, 2).map(({ after, upTo }) => upTo - after),
    [MESSAGES / 2, MESSAGES / 2],
  );
});

test('results that come while a commit is written have run their turns when it ends', async () => {
  await using kernel = await bentKernel();
  const written = await resultsBesideACommit(kernel);
  assert.equal(kernel.commits.length, 1, 'one commit is under way');
  written.resolve();
  await allAnswered(kernel);
  assert.equal(turns.answered, MESSAGES, 'each ran once');
  assert.equal(kernel.commits.length, 2);
});

test('messages of one actor are never in two batches at a time', async () => {
  await using kernel = await bentKernel();
  kernel.hold();
  const asks = await sent(kernel, () => named('hot'));
  const written = Promise.withResolvers<void>();
  kernel.open(held(written.promise));
  await waitUntil('the first commit', () => (kernel.commits.length === 1 ? true : null));
  for (let turn = 0; turn < MANY_TURNS; turn += 1) await new Promise((resume) => setImmediate(resume));
  assert.equal(turns.heard, MESSAGES / 2);
  written.resolve();
  assert.deepEqual(
    await Promise.all(asks),
    numbers.map((n) => n + 1),
  );
  assert.equal(turns.heard, MESSAGES, 'each turn ran once');
  assert.deepEqual(await heardBy(kernel, named('hot')), numbers);
});

test('results of one actor are never in two batches at a time', async () => {
  await using kernel = await bentKernel();
  await effectsRunning(kernel, (n) => (n % 2 === 0 ? named('hot') : each(n)));
  kernel.hold();
  kernel.open(late(write));
  kernel.answer();
  const all = await waitUntil('all results', async () => {
    const heard = await heardBy(kernel, named('hot'));
    return Array.isArray(heard) && heard.length >= MESSAGES / 2 ? heard : null;
  });
  assert.deepEqual(all, Array(MESSAGES / 2).fill(-1));
  for (const n of numbers) if (n % 2 === 1) assert.deepEqual(await heardBy(kernel, each(n)), [-1]);
});

test('the second batch ends before the first message for an actor of the first', async () => {
  await using kernel = await bentKernel();
  kernel.hold();
  const asks = await sent(kernel, (n) => (n === 0 || n === 40 ? named('hot') : each(n)));
  kernel.open();
  await Promise.all(asks);
  assert.deepEqual(
    kernel.commits.slice(0, 2).map(({ after, upTo }) => upTo - after),
    [30, 10],
  );
  assert.deepEqual(await heardBy(kernel, named('hot')), [0, 40]);
  assert.equal(turns.heard, MESSAGES, 'each turn ran once');
});

const refusals: Readonly<Record<string, Fate>> = {
  'that the store refuses': () => Promise.reject(new SvcError('invalid_argument', 'a row is too long')),
  'under a lease that was lost': async () => ({ kind: 'fenced' }),
  'whose answer is lost': async (write) => {
    await write();
    throw new SvcError('unavailable', 'the answer was lost', { store: 'actors' });
  },
};
for (const [what, fate] of Object.entries(refusals)) {
  for (const [which, before] of [
    ['first', []],
    ['second', [late(write)]],
  ] as const) {
    test(`with a ${which} commit ${what} each message is handled once, in order`, async () => {
      await using kernel = await bentKernel();
      kernel.hold();
      const asks = await sent(kernel, (n) => (n % 3 === 0 ? each(n) : named(`third-${n % 3}`)));
      kernel.open(...before, late(fate));
      await Promise.all(asks);
      for (const third of [1, 2])
        assert.deepEqual(
          await heardBy(kernel, named(`third-${third}`)),
          numbers.filter((n) => n % 3 === third),
        );
      for (const n of numbers) if (n % 3 === 0) assert.deepEqual(await heardBy(kernel, each(n)), [n]);
    });

    test(`with a ${which} commit of results ${what} each result is handled once`, async () => {
      await using kernel = await bentKernel();
      await effectsRunning(kernel);
      kernel.bend(...before, late(fate));
      kernel.answer();
      await allAnswered(kernel);
      for (const n of numbers) assert.deepEqual(await heardBy(kernel, each(n)), [-1]);
    });
  }
}

test('a message that fails in the second batch is dead-lettered, and those around it are handled', async () => {
  await using kernel = await bentKernel();
  const { client } = kernel.node.runtime;
  kernel.hold();
  const first = assert.rejects(client.ask(named('broken'), 'Break', {}), { code: 'dead_lettered' });
  const asks = await sent(kernel, (n) => (n % 2 === 0 ? named('hot') : each(n)));
  const last = assert.rejects(client.ask(named('broken-too'), 'Break', {}), { code: 'dead_lettered' });
  kernel.open();
  await Promise.all([...asks, first, last]);
  assert.deepEqual(
    await heardBy(kernel, named('hot')),
    numbers.filter((n) => n % 2 === 0),
  );
});

for (const at of [0, MESSAGES - 1]) {
  test(`message ${at + 1} of ${MESSAGES} that can never be written is dead-lettered, and all others are handled`, async () => {
    await using kernel = await bentKernel();
    kernel.hold();
    const asks = await sent(kernel, each);
    const refuse: Fate = (write, commit) =>
      JSON.stringify(commit).includes(`[${at}]`)
        ? Promise.reject(new SvcError('invalid_argument', 'a row is too long'))
        : write();
    kernel.open(...Array(100).fill(refuse));
    const answers = await Promise.allSettled(asks);
    assert.deepEqual(
      answers.map(({ status }) => status),
      numbers.map((n) => (n === at ? 'rejected' : 'fulfilled')),
    );
  });
}

test('an effect that the second batch runs ahead of its commit is handled once, by that commit', async () => {
  await using kernel = await bentKernel();
  kernel.answer();
  kernel.hold();
  const asks = await sent(kernel, each);
  const asked = kernel.node.runtime.client.ask(named('asks'), 'Ask', { mode: 'repeatable' });
  await waiting(kernel, MESSAGES + 1);
  kernel.open();
  await Promise.all([...asks, asked]);
  assert.deepEqual(
    kernel.commits.slice(0, 2).map(({ results }) => results ?? 0),
    [0, 1],
  );
  assert.deepEqual(await heardBy(kernel, named('asks')), [-1]);
});

test('a node that stops while the second batch is ready loses nothing', async () => {
  await using kernel = await bentKernel();
  const written = await resultsBesideACommit(kernel);
  const stopping = kernel.node.runtime.stop();
  written.resolve();
  await stopping;
  const left = await kernel.node.store.openEffects('default:0');
  const { tail, cursor } = await kernel.node.store.backlog('default:0');
  const committed = kernel.commits.reduce((sum, { results = 0 }) => sum + results, 0);
  // A result that no commit has is a message in the mailbox for the next owner, so no effect is in doubt.
  assert.deepEqual([committed + tail - cursor, left.length], [MESSAGES, 0]);
});

test('the commit of a batch that is ready leaves before the effects of the commit before it begin', async () => {
  await using kernel = await bentKernel();
  kernel.hold();
  const asks = [0, 1].map((n) => kernel.node.runtime.client.ask(each(n), 'Ask', { mode: 'once' }));
  await waiting(kernel, 2);
  kernel.begun.splice(0);
  kernel.open(late(write), late(write));
  await Promise.all(asks);
  await waitUntil('both effects to begin', async () => kernel.begun.length >= 4);
  assert.deepEqual(kernel.begun.slice(0, 4), ['commit', 'commit', 'effect', 'effect']);
});

test('an effect whose node stops before it begins is given back, not in doubt', async () => {
  await using kernel = await bentKernel();
  const { runtime, store } = kernel.node;
  await runtime.client.ask(each(0), 'Ask', { mode: 'once' });
  kernel.answer();
  await runtime.stop();
  const states = async () => (await store.openEffects('default:0')).map(({ status }) => status);
  await waitUntil('the effect to be open or over', async () => !(await states()).includes('started'));
});
