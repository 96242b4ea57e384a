import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import { addressOf } from '../../runtime/address.ts';
import type { ActorClient } from '../../runtime/client.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { defineEffect, EffectProgress, EffectResult } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { LedgerDelivery, LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import { numbersFrom } from '../contract/ledger-driver.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';

const ACTIONS = ['tell', 'ask', 'timer', 'effect', 'call', 'start'] as const;

interface Step {
  readonly action: (typeof ACTIONS)[number];
  readonly seed: number;
}

/** What a walker does for a message: the same for the same seed. */
function stepsOf(seed: number, depth: number): readonly Step[] {
  if (depth === 0) return [];
  const number = numbersFrom(seed);
  return Array.from({ length: 1 + number(3) }, () => {
    return { action: ACTIONS[number(ACTIONS.length)] ?? 'tell', seed: number(1_000_000) };
  });
}

/** The handler throws once for every fourth seed. */
const isFailing = (seed: number): boolean => seed % 4 === 0;

/** How many deliveries follow from a walk, its own included. */
function deliveriesOf(seed: number, depth: number): number {
  let count = isFailing(seed) ? 2 : 1;
  for (const { action, seed: next } of stepsOf(seed, depth)) {
    if (action === 'ask' || action === 'effect') count += 2;
    else if (action === 'call' || action === 'start') count += 1 + deliveriesOf(next, depth - 1);
    else count += deliveriesOf(next, depth - 1);
  }
  return count;
}

const failed = new Set<string>();

const walker = defineActor({
  kind: 'walker',
  version: 1,
  state: z.object({ steps: z.number() }),
  initial: () => ({ steps: 0 }),
  messages: {
    Walk: z.object({ seed: z.number(), depth: z.number() }),
    Ask: z.object({}),
    Answered: z.object({ ok: z.boolean(), value: z.json().optional() }),
    Part: EffectProgress,
    Ran: EffectResult,
  },
  events: {},
  on: {
    Walk(state, { seed, depth }, turn) {
      if (isFailing(seed) && !failed.has(turn.messageId)) {
        failed.add(turn.messageId);
        throw new Error('it fails once');
      }
      for (const [at, { action, seed: next }] of stepsOf(seed, depth).entries()) {
        const child = addressOf('walker', turn.tenant, turn.newId());
        const walk = { seed: next, depth: depth - 1 };
        const effect = {
          mode: 'repeatable',
          replyAs: 'Ran',
          retry: { maxAttempts: 3, initialDelayMs: 1, maxDelayMs: 5 },
        } as const;
        if (action === 'tell') turn.tell(child, 'Walk', walk);
        else if (action === 'ask') turn.tell(child, 'Ask', {}, { replyAs: 'Answered' });
        else if (action === 'timer') turn.after(`${turn.messageId}-${at}`, at, 'Walk', walk);
        else if (action === 'effect') turn.effect({ ...effect, kind: 'test.step', input: {}, progressAs: 'Part' });
        else turn.effect({ ...effect, kind: action === 'call' ? 'test.call' : 'test.ask', input: { to: child, walk } });
      }
      return { steps: state.steps + 1 };
    },
    Ask(state, _, turn) {
      turn.reply('yes');
      return state;
    },
    Answered: (state) => ({ steps: state.steps + 1 }),
    Part: (state) => ({ steps: state.steps + 1 }),
    Ran: (state) => ({ steps: state.steps + 1 }),
  },
});

const Start = z.object({ to: z.string(), walk: z.object({ seed: z.number(), depth: z.number() }) });

/** Effects of which the first attempt fails; two of them call actors, without saying for which trace. */
function effects(client: () => ActorClient) {
  const addressIn = (to: string) => addressOf('walker', 'acme', to.split('/')[2] ?? '');
  const once = (attempt: number): void => {
    if (attempt === 1) throw new SvcError('unavailable', 'not yet');
  };
  return [
    defineEffect({
      kind: 'test.step',
      input: z.object({}),
      async run(_input, context) {
        once(context.attempt);
        await context.progress('half');
        return 'done';
      },
    }),
    defineEffect({
      kind: 'test.call',
      input: Start,
      async run({ to, walk }, context) {
        once(context.attempt);
        await client().tell(addressIn(to), 'Walk', walk, { messageId: context.effectId });
        return 'called';
      },
    }),
    defineEffect({
      kind: 'test.ask',
      input: Start,
      async run({ to, walk }) {
        await client().ask(addressIn(to), 'Walk', walk);
        return 'answered';
      },
    }),
  ];
}

async function wholeTrace(ledger: LedgerReader, trace: string): Promise<LedgerDelivery[]> {
  const all: LedgerDelivery[] = [];
  for (let after: string | undefined; ; ) {
    const page = await ledger.trace('acme', trace, { limit: 100, after });
    all.push(...page.deliveries);
    if (page.next === null) return all;
    after = page.next;
  }
}

/** Messages that the edges from causes connect with the root. */
function reachedFrom(root: string, deliveries: readonly LedgerDelivery[]): Set<string> {
  const effectsOf = Map.groupBy(deliveries, ({ message }) => message.cause);
  const reached = new Set([root]);
  for (const id of reached) for (const { message } of effectsOf.get(id) ?? []) reached.add(message.id);
  return reached;
}

test('all deliveries that follow from a client call are one trace and one connected graph, with the call as its only root', async () => {
  let client: ActorClient | null = null;
  const calls = (): ActorClient => {
    assert.ok(client !== null);
    return client;
  };
  const retry = { maxAttempts: 5, initialDelayMs: 1, maxDelayMs: 5 };
  const node = await startKernelNode({ definitions: [walker], handlers: effects(calls), settings: { retry } });
  try {
    client = node.runtime.client;
    const { ledger } = node.runtime;
    assert.ok(ledger !== null);
    const walks = Array.from({ length: sample({ normal: 12, long: 200 }) }, (_, n) => ({
      seed: 7_919 * (n + 1),
      trace: randomUUID().replaceAll('-', ''),
      messageId: randomUUID(),
    }));
    const depth = 4;
    await Promise.all(
      walks.map(({ seed, ...options }) =>
        calls().ask(addressOf('walker', 'acme', randomUUID()), 'Walk', { seed, depth }, options),
      ),
    );
    for (const { seed, trace, messageId } of walks) {
      const appended = deliveriesOf(seed, depth);
      const all = await waitUntil(`the ${appended} deliveries of seed ${seed}`, async () => {
        const found = await wholeTrace(ledger, trace);
        return found.filter(({ part }) => part === undefined).length >= appended && found;
      });
      const mailbox = all.filter(({ part }) => part === undefined);
      assert.equal(mailbox.length, appended, 'deliveries equal appends');
      assert.equal(new Set(mailbox.map(({ message }) => message.id)).size, appended, 'no message twice');
      assert.deepEqual(
        mailbox.filter(({ message }) => message.cause === null).map(({ message }) => message.id),
        [messageId],
      );
      const reached = reachedFrom(messageId, all);
      assert.deepEqual(
        mailbox.filter(({ message }) => !reached.has(message.id)),
        [],
        'orphans',
      );
    }
    const recent = await ledger.recent('acme', { limit: 1_000, roots: true });
    assert.equal(recent.deliveries.length, walks.length, 'no other roots');
  } finally {
    await node.stop();
  }
});

test('a delivery says which attempt of its message it was', async () => {
  const retry = { maxAttempts: 5, initialDelayMs: 1, maxDelayMs: 5 };
  const node = await startKernelNode({ definitions: [walker], settings: { retry } });
  try {
    const messageId = randomUUID();
    const to = addressOf('walker', 'acme', randomUUID());
    await node.runtime.client.ask(to, 'Walk', { seed: 4, depth: 0 }, { messageId });
    const { ledger } = node.runtime;
    assert.ok(ledger !== null);
    const attempts = await waitUntil('both attempts', async () => {
      const found = await ledger.message('acme', messageId);
      return found.length === 2 && found;
    });
    assert.deepEqual(
      attempts.map(({ row }) => [row?.attempt ?? 1, row?.outcome]),
      [
        [1, 'retried'],
        [2, 'done'],
      ],
    );
  } finally {
    await node.stop();
  }
});

/** A clock that runs this much slower: a second of the kernel is five, and how slow the machine is counts a fifth. */
const PACE = 5;
const slowClock: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() / PACE,
  after: (delayMs, call) => systemClock.after(delayMs * PACE, call),
};

test('a delivery can be read within a second of its answer', async () => {
  const node = await startKernelNode({ definitions: [walker], clock: slowClock });
  try {
    const { client: calls, ledger } = node.runtime;
    assert.ok(ledger !== null);
    let tookMs = Infinity;
    // The first one may be written at once. The second comes right after it, and so waits for as long as one ever does.
    for (const messageId of [randomUUID(), randomUUID()]) {
      await calls.ask(addressOf('walker', 'acme', randomUUID()), 'Ask', {}, { messageId });
      const answeredAt = slowClock.monotonic();
      await waitUntil('the delivery', async () => (await ledger.message('acme', messageId)).length === 1);
      tookMs = slowClock.monotonic() - answeredAt;
    }
    assert.ok(tookMs < 1_000, `it took ${Math.round(tookMs)} ms`);
  } finally {
    await node.stop();
  }
});
