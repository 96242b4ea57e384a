import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { toSvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { Message } from '../../runtime/message.ts';
import { noMeter } from '../../runtime/meter.ts';
import { initialRecord } from '../../runtime/turns/loading.ts';
import { runTurn } from '../../runtime/turns/turn.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const counts = { turns: 0, loaded: 0 };

const worker = defineActor({
  kind: 'worker',
  version: 1,
  state: z.object({ done: z.number(), tags: z.array(z.string()), deep: z.object({ list: z.array(z.number()) }) }),
  initial: () => ({ done: 0, tags: [], deep: { list: [1] } }),
  messages: {
    Work: z.object({ fail: z.boolean() }),
    Mutate: z.object({ how: z.enum(['field', 'push', 'deep']), thenThrow: z.boolean() }),
    Look: z.object({}),
  },
  events: {},
  on: {
    Work(state, { fail }, turn) {
      counts.turns += 1;
      turn.tell(turn.self, 'Look', {});
      if (fail) throw new Error('a bad deploy');
      turn.reply(state.done + 1);
      return { ...state, done: state.done + 1 };
    },
    Mutate(state, { how, thenThrow }) {
      // As plain JavaScript does, or a cast.
      const open: { done: number; tags: string[]; deep: { list: number[] } } = Object(state);
      if (how === 'field') open.done += 1;
      if (how === 'push') open.tags.push('x');
      if (how === 'deep') open.deep.list[0] = 2;
      if (thenThrow) throw new Error('thrown after the change');
      return state;
    },
    Look(state, _, turn) {
      turn.reply({ ...state, tags: [...state.tags], deep: { list: [...state.deep.list] } });
      return state;
    },
  },
});

const fresh = (): Address => addressOf('worker', 'acme', randomUUID());

async function withNode(use: (node: KernelNode, gate: { hold(): void; open(): void }) => Promise<void>): Promise<void> {
  let held = Promise.withResolvers<void>();
  held.resolve();
  const node = await startKernelNode({
    definitions: [worker],
    settings: { batchLimit: 256, mailboxBound: 10_000, retry: { maxAttempts: 2, initialDelayMs: 5, maxDelayMs: 20 } },
    store: (inner) => ({
      load(partition, addresses) {
        counts.loaded += addresses.length;
        return inner.load(partition, addresses);
      },
      async poll(asks, limit) {
        await held.promise;
        return inner.poll(asks, limit);
      },
    }),
  });
  const gate = {
    hold() {
      held = Promise.withResolvers<void>();
    },
    open: () => held.resolve(),
  };
  try {
    await use(node, gate);
  } finally {
    gate.open();
    await node.stop();
  }
}

const codeOf = (asked: Promise<Json>): Promise<string> => asked.then(String, (thrown) => toSvcError(thrown).code);

test('a batch in which every handler throws runs each turn once and loads each actor once', () =>
  withNode(async ({ runtime: { client }, store }, gate) => {
    gate.hold();
    const asks = Array.from({ length: 256 }, (_, n) => codeOf(client.ask(fresh(), 'Work', { fail: n % 8 !== 0 })));
    await waitUntil('all messages wait', async () => (await store.backlog('default:0')).tail >= 256);
    Object.assign(counts, { turns: 0, loaded: 0 });
    gate.open();
    const outcomes = await Promise.all(asks);
    assert.equal(outcomes.filter((outcome) => outcome === '1').length, 32);
    assert.equal(outcomes.filter((outcome) => outcome === 'dead_lettered').length, 224);
    // Each message once, and the one retry of each that failed; retries come with timers in batches of any size.
    assert.equal(counts.turns, 256 + 224);
    assert.ok(counts.loaded <= 256 + 224, `${counts.loaded} actors were loaded`);
    // Sends of failed turns were dropped with them.
    assert.equal((await store.backlog('default:0')).tail - 256 - 224, 32);
  }));

for (const how of ['field', 'push', 'deep'] as const)
  for (const thenThrow of [false, true])
    test(`a handler that changes its state in place (${how}${thenThrow ? ', then throws' : ''}) fails and changes nothing`, () =>
      withNode(async ({ runtime: { client }, warnings }) => {
        const to = fresh();
        assert.equal(await client.ask(to, 'Work', { fail: false }), 1);
        const untouched = { done: 1, tags: [], deep: { list: [1] } };
        const mutated = codeOf(client.ask(to, 'Mutate', { how, thenThrow }));
        assert.deepEqual(await client.ask(to, 'Look', {}), untouched);
        assert.equal(await mutated, 'dead_lettered');
        assert.deepEqual(await client.ask(to, 'Look', {}), untouched, 'in memory');
        assert.deepEqual((await client.read(to))?.state, untouched, 'in the store');
        assert.deepEqual(warnings, []);
      }));

test('the error of a change in place says what to do instead', () => {
  const record = initialRecord(worker, { address: fresh(), tenant: 'acme', id: 'one' });
  const message: Message = {
    ...{ id: randomUUID(), to: fresh(), from: null, cause: null, trace: '0'.repeat(32), origin: 'client' },
    ...{ type: 'Mutate', payload: { how: 'push', thenThrow: false } },
  };
  const turn = runTurn(worker, record, message, 'acme', 0);
  assert.ok(turn.kind === 'failed');
  assert.match(turn.error.message, /^the handler of Mutate changed its state in place; return a new one/);
});

test('each attempt of a failing message is counted, also those of its retries, and so are the messages behind it', async () => {
  const counted: string[] = [];
  const failed: string[] = [];
  const node = await startKernelNode({
    definitions: [worker],
    settings: { retry: { maxAttempts: 3, initialDelayMs: 50, maxDelayMs: 50 } },
    meter: {
      ...noMeter,
      delivered: (_kind, outcome) => counted.push(outcome),
      turnFailed: (address, outcome, { error }) => failed.push(`${address} ${outcome}: ${error}`),
    },
  });
  const to = fresh();
  const { client } = node.runtime;
  const asked = [client.ask(to, 'Work', { fail: true }), client.ask(to, 'Mutate', { how: 'field', thenThrow: true })];
  assert.deepEqual(await Promise.all(asked.map(codeOf)), ['dead_lettered', 'dead_lettered']);
  await waitUntil('six attempts', () => failed.length >= 6);
  const times = (outcome: string): number => counted.filter((one) => one === outcome).length;
  assert.deepEqual([times('retried'), times('dead-lettered')], [4, 2]);
  assert.equal(failed.filter((text) => text === `${to} dead-lettered: a bad deploy`).length, 1);
  await node.stop();
});
