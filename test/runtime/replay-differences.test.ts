import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Address, addressOf } from '../../runtime/address.ts';
import { type ActorDefinition, defineActor } from '../../runtime/define-actor.ts';
import { type LedgerLine, replayActor } from '../../runtime/turns/replay.ts';
import { linesOfActor } from '../contract/actor-lines.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const retry = { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 20 };

let node: KernelNode;
const one = addressOf('counter', 'acme', randomUUID());
const work = addressOf('job', 'acme', randomUUID());
const histories = new Map<Address, LedgerLine[]>();

/** Records one actor of each kind: one batch of many messages, a timer, an answer, a refusal and a failing handler. */
before(async () => {
  node = await startKernelNode({
    definitions: [counter, job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    settings: { retry },
  });
  const { client, recorded } = node.runtime;
  await client.ask(one, 'Add', { by: 1 });
  await Promise.all(Array.from({ length: 20 }, (_, index) => client.ask(one, 'Add', { by: index })));
  await client.ask(one, 'AddLater', { by: 5, afterMs: 3_600_000 });
  await client.ask(one, 'Forget', {});
  await client.ask(one, 'Forward', { to: randomUUID(), by: 7 });
  await client.ask(one, 'Refuse', {}).catch(() => undefined);
  await client.ask(one, 'Break', { times: 1 }).catch(() => undefined);
  await client.ask(one, 'Get', {});
  await client.ask(work, 'Run', { input: { value: 1 } });
  // The last message of each: how many lines there are depends on how the attempts of Break were written.
  for (const [address, last] of [
    [one, 'Get'],
    [work, 'Ran'],
  ] as const) {
    await waitUntil(`the deliveries of ${address}`, async () => {
      const { ledger } = node.runtime;
      assert.ok(ledger !== null);
      const lines: LedgerLine[] = [];
      for await (const line of linesOfActor(ledger, recorded.payloads, address)) lines.push(line);
      histories.set(address, lines);
      return lines.at(-1)?.message.type === last;
    });
  }
});

after(() => node.stop());

const replayed = (definition: ActorDefinition, address: Address) =>
  replayActor(definition, address, histories.get(address) ?? [], { retry, untilDifference: true });

test('the same code replays every turn of a history as it was recorded', async () => {
  for (const [definition, address] of [
    [counter, one],
    [job, work],
  ] as const) {
    const { difference, compared, handled } = await replayed(definition, address);
    assert.equal(difference, null);
    assert.ok(compared > 0 && compared <= handled);
  }
});

test('a changed handler is pinned to its first message, with the part that differs', async () => {
  const { on } = counter;
  const changed = (handlers: Partial<typeof on>): ActorDefinition =>
    defineActor({ ...counter, on: { ...on, ...handlers } });
  const cases: readonly [string, ActorDefinition, string, readonly string[]][] = [
    [
      'state',
      changed({
        Forget(state, _, turn) {
          turn.clear('later');
          return state;
        },
      }),
      'Forget',
      ['state'],
    ],
    [
      'state that stayed before',
      changed({
        Get: (state, _, turn) => ({ ...on.Get(state, {}, turn), asks: 0 }),
      }),
      'Get',
      ['state'],
    ],
    [
      'an event more',
      changed({
        Forget(state, _, turn) {
          turn.emit('added', { by: 0, value: 0 });
          return on.Forget(state, {}, turn);
        },
      }),
      'Forget',
      ['events'],
    ],
    [
      'an answer',
      changed({
        Get(state, _, turn) {
          turn.reply(null);
          return state;
        },
      }),
      'Get',
      ['messages'],
    ],
    [
      'another recipient',
      changed({ Forward: (state, { by }, turn) => on.Forward(state, { to: 'other', by }, turn) }),
      'Forward',
      ['messages'],
    ],
    [
      'another delay',
      changed({ AddLater: (state, { by }, turn) => on.AddLater(state, { by, afterMs: 1 }, turn) }),
      'AddLater',
      ['timers'],
    ],
    ['a refusal less', changed({ Refuse: (state) => state }), 'Refuse', ['outcome']],
    [
      'another refusal',
      changed({ Refuse: (_state, _, turn) => turn.refuse('failed_precondition', 'never') }),
      'Refuse',
      ['messages'],
    ],
    [
      'a handler that throws',
      changed({
        Get() {
          throw new Error('broken');
        },
      }),
      'Get',
      ['outcome'],
    ],
  ];
  for (const [name, definition, type, parts] of cases) {
    const { difference } = await replayed(definition, one);
    assert.deepEqual([difference?.message.type, difference?.parts], [type, parts], name);
  }
  const other = defineActor({
    ...job,
    on: { ...job.on, Run: (state, message, turn) => job.on.Run(state, { ...message, input: { value: 2 } }, turn) },
  });
  assert.deepEqual((await replayed(other, work)).difference?.parts, ['effects']);
});

test('inside a batch of many messages the first message whose state differs is named', async () => {
  const definition = defineActor({
    ...counter,
    on: {
      ...counter.on,
      Add(state, { by }, turn) {
        const next = counter.on.Add(state, { by }, turn);
        return by === 7 ? { ...next, blob: 'changed' } : next;
      },
    },
  });
  const { difference } = await replayed(definition, one);
  assert.deepEqual([difference?.message.payload, difference?.parts], [{ by: 7 }, ['state']]);
});

test('a history without digests, of an earlier version, still replays', async () => {
  const older = (histories.get(one) ?? []).map((line) => ({
    ...line,
    row: line.row === null ? null : { ...line.row, digest: undefined },
  }));
  const { difference, compared, record } = await replayActor(counter, one, older, { retry });
  const whole = await replayed(counter, one);
  assert.deepEqual([difference, compared], [null, 0]);
  assert.deepEqual(record, whole.record);
});
