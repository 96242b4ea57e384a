import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import type { ActorStore, Commit } from '../../runtime/actor-store.ts';
import { type Address, addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { defineEffect, EffectResult } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import { createPayloads } from '../../runtime/turns/payload.ts';
import { decodeRecord } from '../../runtime/turns/record.ts';
import { type LedgerLine, replayActor } from '../../runtime/turns/replay.ts';
import { readLedger } from '../contract/actor-lines.ts';
import { job, type WorkProbe, workEffect } from '../support/actors.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const STEPS = 5;
const retry = { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 20 };

/** Goes through its steps, each an effect behind the other. */
const stepper = defineActor({
  kind: 'stepper',
  version: 1,
  state: z.object({ done: z.number(), mode: z.enum(['repeatable', 'once']) }),
  initial: () => ({ done: 0, mode: 'repeatable' }),
  messages: { Go: z.object({ mode: z.enum(['repeatable', 'once']) }), Ran: EffectResult },
  events: { stepped: z.object({ step: z.number() }) },
  on: {
    Go(state, { mode }, turn) {
      turn.effect({ kind: 'test.work', mode, ahead: true, input: { value: 0 }, replyAs: 'Ran' });
      return { ...state, mode };
    },
    Ran(state, _, turn) {
      const done = state.done + 1;
      turn.emit('stepped', { step: done });
      const input = { value: done };
      if (done < STEPS) turn.effect({ kind: 'test.work', mode: state.mode, ahead: true, input, replyAs: 'Ran' });
      return { ...state, done };
    },
  },
});

const fresh = (kind: string): Address => addressOf(kind, 'acme', randomUUID());
const newProbe = (): WorkProbe => ({ begun: [], aborted: [] });

async function stepsOf(node: KernelNode, to: Address): Promise<number> {
  return stepper.state.safeParse((await node.runtime.client.read(to))?.state).data?.done ?? 0;
}

const statusOf = async (node: KernelNode, to: Address) =>
  job.state.safeParse((await node.runtime.client.read(to))?.state).data?.status;

/** Notes the commits of effects that the kernel sends. */
const noting =
  (commits: Commit[]) =>
  (inner: ActorStore): Partial<ActorStore> => ({
    commit(commit, readAhead) {
      commits.push(commit);
      return inner.commit(commit, readAhead);
    },
  });

test('read-only steps that end at once share one commit; the ledger has each of their results, and replay the same record', async () => {
  const commits: Commit[] = [];
  const probe = newProbe();
  const node = await startKernelNode({
    definitions: [stepper],
    handlers: [workEffect(probe)],
    store: noting(commits),
    settings: { retry },
  });
  try {
    const to = fresh('stepper');
    await node.runtime.client.ask(to, 'Go', { mode: 'repeatable' });
    assert.equal(await stepsOf(node, to), STEPS);
    assert.equal(commits.length, 1);
    assert.deepEqual([commits[0]?.effectsOpened, commits[0]?.settles], [[], []]);
    assert.equal(probe.begun.length, STEPS);
    const actor = { tenant: 'acme', address: to, partition: 'default:0' } as const;
    const lines = await waitUntil('the ledger', async () => {
      const found: LedgerLine[] = [];
      for await (const line of readLedger(node.documents, createPayloads(node.blobs), actor)) found.push(line);
      return found.length > STEPS ? found : null;
    });
    assert.deepEqual(
      lines.map(({ seq }) => seq),
      [1, 1.0001, 1.0002, 1.0003, 1.0004, 1.0005],
    );
    const [text = null] = await node.store.load('default:0', [to]);
    const replayed = await replayActor(stepper, to, lines, { retry });
    assert.deepEqual(replayed.record, decodeRecord(stepper, text ?? ''));
    assert.deepEqual(replayed.events, await node.runtime.client.events(to, 0, 100));
  } finally {
    await node.stop();
  }
});

test('turns of steps that share a commit have the times at which their results came', async () => {
  const commits: Commit[] = [];
  const slow = defineEffect({
    kind: 'test.work',
    input: z.object({ value: z.number() }),
    // The result must be there at once, so the time passes without a wait.
    async run() {
      const until = performance.now() + 20;
      while (performance.now() < until);
      return 0;
    },
  });
  const node = await startKernelNode({ definitions: [stepper], handlers: [slow], store: noting(commits) });
  try {
    const to = fresh('stepper');
    await node.runtime.client.ask(to, 'Go', { mode: 'repeatable' });
    assert.equal(commits.length, 1);
    const [first, ...others] = (await node.runtime.client.events(to, 0, 100)).map(({ at }) => at);
    assert.deepEqual(
      others.map((at, index) => at - (first ?? 0) >= (index + 1) * 19),
      [true, true, true, true],
    );
  } finally {
    await node.stop();
  }
});

test('a once effect begins after the commit that records its start, whatever its request says', async () => {
  const commits: Commit[] = [];
  const probe = newProbe();
  const begun: number[] = [];
  const node = await startKernelNode({
    definitions: [stepper],
    handlers: [workEffect(probe)],
    store: (inner) => ({
      async commit(commit, readAhead) {
        begun.push(probe.begun.length);
        commits.push(commit);
        return inner.commit(commit, readAhead);
      },
    }),
  });
  try {
    const to = fresh('stepper');
    await node.runtime.client.ask(to, 'Go', { mode: 'once' });
    await waitUntil('all steps', async () => (await stepsOf(node, to)) === STEPS);
    assert.deepEqual(begun, [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(
      commits.map(({ effectsOpened }) => effectsOpened.map(({ started }) => started !== undefined)),
      [[true], [true], [true], [true], [true], []],
    );
  } finally {
    await node.stop();
  }
});

test('an effect runs while its commit is in flight; when the commit is fenced it is stopped, unseen, and runs again', async () => {
  const probe = newProbe();
  let first = true;
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect(probe)],
    store: (inner) => ({
      async commit(commit, readAhead) {
        if (!first || commit.effectsOpened.length === 0) return inner.commit(commit, readAhead);
        first = false;
        await waitUntil('it began', () => probe.begun.length === 1);
        return { kind: 'fenced' };
      },
    }),
  });
  try {
    const to = fresh('job');
    const asked = node.runtime.client.ask(to, 'Run', { input: { waitForAbort: true }, ahead: true });
    await waitUntil('it was stopped', () => probe.aborted.length === 1);
    await asked;
    await waitUntil('it runs again', () => probe.begun.length === 2);
    assert.equal(await statusOf(node, to), 'running');
    await node.runtime.client.ask(to, 'Stop', {});
    await waitUntil('it was stopped again', () => probe.aborted.length === 2);
    const names = (await node.runtime.client.events(to, 0, 10)).map(({ name }) => name);
    assert.deepEqual(names, ['started', 'ended']);
  } finally {
    await node.stop();
  }
});

test('a result that arrived before its commit failed does not count: the turn and its effect run again', async () => {
  const probe = newProbe();
  let failures = 0;
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect(probe)],
    store: (inner) => ({
      async commit(commit, readAhead) {
        if (failures > 0) return inner.commit(commit, readAhead);
        failures += 1;
        throw new SvcError('internal', 'the store refuses this commit');
      },
    }),
  });
  try {
    const to = fresh('job');
    await node.runtime.client.ask(to, 'Run', { input: { value: 'made' }, ahead: true });
    await waitUntil('the result', async () => (await statusOf(node, to)) === 'done');
    assert.equal(probe.begun.length, 2);
    assert.equal(new Set(probe.begun).size, 1, 'the same effect, since turns are pure');
    const names = (await node.runtime.client.events(to, 0, 10)).map(({ name }) => name);
    assert.deepEqual(names, ['started', 'ended']);
    assert.deepEqual(await node.store.openEffects('default:0'), []);
  } finally {
    await node.stop();
  }
});

test('messages that an effect sends while it runs wait for its commit, and its result comes after them', async () => {
  const commits: Commit[] = [];
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect(newProbe())],
    store: noting(commits),
  });
  try {
    const to = fresh('job');
    const parts = ['a', 'b', 'c'];
    await node.runtime.client.ask(to, 'Run', { input: { value: 'made', parts }, ahead: true });
    await waitUntil('the result', async () => (await statusOf(node, to)) === 'done');
    const events = await node.runtime.client.events(to, 0, 10);
    assert.deepEqual(
      events.map(({ name, payload }) => (name === 'part' ? z.object({ text: z.string() }).parse(payload).text : name)),
      ['started', ...parts, 'ended'],
    );
    assert.ok(commits.every(({ settles }) => settles?.length === 0));
  } finally {
    await node.stop();
  }
});

test('a failing effect is tried again behind its commit, by the policy of its request', async () => {
  const probe = newProbe();
  const node = await startKernelNode({ definitions: [job], handlers: [workEffect(probe)] });
  try {
    const to = fresh('job');
    await node.runtime.client.ask(to, 'Run', { input: { value: 1, failTimes: 2 }, ahead: true });
    await waitUntil('the result', async () => (await statusOf(node, to)) === 'done');
    assert.equal(probe.begun.length, 3);
  } finally {
    await node.stop();
  }
});

test('while nodes of an older format are in the fleet no result is handled beside the mailbox, and nothing runs ahead', async () => {
  const commits: Commit[] = [];
  let contracted = false;
  const node = await startKernelNode({
    definitions: [stepper],
    handlers: [workEffect(newProbe())],
    store: noting(commits),
    contracted: () => contracted,
  });
  try {
    const before = fresh('stepper');
    await node.runtime.client.ask(before, 'Go', { mode: 'repeatable' });
    await waitUntil('all steps', async () => (await stepsOf(node, before)) === STEPS);
    assert.ok(
      commits.every(({ settles, journal }) => settles?.length === 0 && journal?.includes('"results"') !== true),
    );
    const sent = commits.length;
    assert.ok(sent > STEPS, `${sent} commits`);
    contracted = true;
    const after = fresh('stepper');
    await node.runtime.client.ask(after, 'Go', { mode: 'repeatable' });
    assert.equal(await stepsOf(node, after), STEPS);
    assert.equal(commits.length, sent + 1);
  } finally {
    await node.stop();
  }
});
