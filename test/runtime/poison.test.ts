import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { counter } from '../support/actors.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';

const HUGE = 17 * 1024 * 1024;

/** Decides what cannot be written. */
const poison = defineActor({
  kind: 'poison',
  version: 1,
  state: z.object({ text: z.string(), turns: z.number(), ended: z.boolean(), odd: z.unknown() }),
  initial: () => ({ text: '', turns: 0, ended: false, odd: null }),
  messages: {
    Count: z.object({}),
    Do: z.object({ what: z.enum(['state', 'event', 'send', 'reply', 'effect', 'bigint', 'timer', 'done']) }),
    End: z.object({}),
    Late: z.object({ fail: z.boolean() }),
  },
  events: { said: z.object({ text: z.string() }) },
  on: {
    Count(state, _, turn) {
      turn.reply(state.turns + 1);
      return { ...state, turns: state.turns + 1 };
    },
    Do(state, { what }, turn) {
      const text = 'x'.repeat(HUGE);
      if (what === 'state') return { ...state, text };
      if (what === 'bigint') return { ...state, odd: 1n };
      if (what === 'done') return { ...state, odd: 'throw' };
      if (what === 'event') turn.emit('said', { text });
      if (what === 'send') turn.tell(turn.self, 'Count', { text });
      if (what === 'reply') turn.reply(text);
      if (what === 'timer') turn.after('never', Number.NaN, 'Count', {});
      if (what === 'effect') turn.effect({ kind: 'none', mode: 'once', input: { text }, replyAs: 'Count' });
      return { ...state, turns: state.turns + 100 };
    },
    End(state, _, turn) {
      turn.emit('said', { text: 'end' });
      return { ...state, ended: true };
    },
    Late(state, { fail }, turn) {
      if (fail) throw new Error('a late message that fails');
      turn.emit('said', { text: 'late' });
      return state;
    },
  },
  done(state) {
    if (state.odd === 'throw') throw new Error('done is broken');
    return state.ended;
  },
});

let node: KernelNode;
let refuse: ((body: string) => boolean) | null = null;
before(async () => {
  node = await startKernelNode({
    definitions: [poison, counter],
    // Each try of a turn that decides 17 MiB of text takes a tenth of a second of the processor and more.
    settings: { mailboxBound: 100_000, retry: { maxAttempts: 2, initialDelayMs: 100, maxDelayMs: 10_000 } },
    store: (inner) => ({
      async commit(commit, readAhead) {
        if (refuse !== null && commit.records.some(({ record }) => record !== null && refuse?.(record) === true)) {
          throw new SvcError('internal', 'the store refuses this commit');
        }
        return inner.commit(commit, readAhead);
      },
    }),
  });
});
after(() => node.stop());

const fresh = (kind: string): Address => addressOf(kind, 'acme', randomUUID());
/** A turn with 17 MiB of text is tried twice: a busy machine needs more than a few seconds for them. */
const ASK_TIMEOUT_MS = 60_000;
const ask = (to: Address, type: string, payload: Json = {}): Promise<Json> =>
  node.runtime.client.ask(to, type, payload, { timeoutMs: ASK_TIMEOUT_MS });

for (const what of ['state', 'event', 'send', 'reply', 'effect', 'bigint', 'timer', 'done']) {
  test(`a turn whose ${what} cannot be written is dead-lettered alone`, async () => {
    const to = fresh('poison');
    await ask(to, 'Count');
    const bad = ask(to, 'Do', { what });
    const others = Array.from({ length: 20 }, () => ask(fresh('counter'), 'Add', { by: 1 }));
    const behind = ask(to, 'Count');
    await assert.rejects(bad, { code: 'dead_lettered' });
    assert.deepEqual(
      await Promise.all(others),
      others.map(() => 1),
    );
    assert.equal(await behind, 2, 'the actor goes on without the turn');
  });
}

test('a message whose commit the store refuses is dead-lettered alone', async () => {
  refuse = (record) => record.includes('4711');
  const to = fresh('counter');
  const calls = [1, 2, 3, 4_711, 4, 5].map((by) => ask(by === 4_711 ? to : fresh('counter'), 'Add', { by }));
  const outcomes = await Promise.allSettled(calls);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.code)),
    [1, 2, 3, 'dead_lettered', 4, 5],
  );
  refuse = null;
  assert.equal(await ask(to, 'Add', { by: 1 }), 1);
});

test('thousands of messages behind a failing one are all handled, in order', async () => {
  const to = fresh('counter');
  const broken = ask(to, 'Break', { times: 1 });
  const many = sample({ normal: 3_000, long: 10_000 });
  const text = 'x'.repeat(2_000);
  await Promise.all(Array.from({ length: many }, () => node.runtime.client.tell(to, 'Add', { by: 1, text })));
  await assert.rejects(broken, { code: 'dead_lettered' });
  assert.equal(await node.runtime.client.ask(to, 'Add', { by: 1 }, { timeoutMs: 60_000 }), many + 1);
  const events = await node.runtime.client.events(to, many - 10, 20);
  assert.equal(events.at(-1)?.seq, many + 1);
  assert.equal((await node.runtime.client.mailbox(to)).depth, 0);
});

test('an actor that has ended takes no new event, also from the archive', async () => {
  const to = fresh('poison');
  await ask(to, 'End');
  await assert.rejects(ask(to, 'Late', { fail: false }), { code: 'failed_precondition' });
  await waitUntil('the archive', async () => (await node.runtime.client.read(to))?.archived === true);
  await assert.rejects(ask(to, 'Late', { fail: false }), { code: 'failed_precondition' });
  assert.equal((await node.runtime.client.events(to, 0, 10)).length, 1);
});

test('an ended actor with a failing message is not forgotten before that is settled', async () => {
  for (let round = 0; round < 10; round += 1) {
    const to = fresh('poison');
    await ask(to, 'End');
    await assert.rejects(ask(to, 'Late', { fail: true }), { code: 'dead_lettered' });
  }
});
