import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import {
  type ActorRuntime,
  defineActor,
  defineEffect,
  EffectResult,
  message,
  SvcError,
  startRuntime,
} from '../../runtime/index.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { ActorDriver } from '../../runtime/testing/actor-driver.ts';
import { waitUntil } from '../support/wait-until.ts';

const double = defineEffect({
  kind: 'test.double',
  input: z.object({ value: z.number() }),
  run: async ({ value }) => value * 2,
});

const State = z.object({ value: z.number() });
const counter = defineActor({
  kind: 'counter',
  version: 1,
  state: State,
  initial: () => ({ value: 0 }),
  messages: {
    Add: message(z.object({ by: z.number().default(1) }), z.object({ value: z.number().max(100) })),
    Clear: z.object({}),
    Double: z.object({}),
    Doubled: EffectResult,
    Get: message(z.object({}), z.number()),
  },
  events: {},
  on: {
    Add({ value }, { by }, turn) {
      if (by < 0) turn.refuse('invalid_argument', 'by is negative');
      turn.reply({ value: value + by });
      return { value: value + by };
    },
    Clear: () => ({ value: 0 }),
    Double(state, _, turn) {
      turn.effect(double, { mode: 'repeatable', input: { value: state.value }, replyAs: 'Doubled' });
      return state;
    },
    Doubled: (state, { outcome }) => (outcome.kind === 'done' ? { value: z.number().parse(outcome.value) } : state),
    Get(state, _, turn) {
      turn.reply(state.value);
      return state;
    },
  },
});

describe('typed calls of actors', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-typed-'));
  const warned: string[] = [];
  let runtime: ActorRuntime;
  const handle = (id: string) => runtime.client.actor(counter, 'acme', id);

  before(async () => {
    const warn = (text: string) => warned.push(text);
    const settings = { partitions: 2, systemPartitions: 1 };
    runtime = await startRuntime({ dataDir, actors: [counter], effects: [double], settings, warn });
  });
  after(async () => {
    await runtime.stop();
    rmSync(dataDir, { recursive: true, force: true });
    assert.deepEqual(warned, []);
  });

  test('resolve to the answer that the message names, with defaults of the payload', async () => {
    assert.deepEqual(await handle('a').Add({ by: 2 }), { value: 2 });
    assert.deepEqual(await handle('a').Add(), { value: 3 });
  });

  test('of a message without an answer resolve once it is in the mailbox, in order with those behind it', async () => {
    await handle('b').Add({ by: 5 });
    assert.equal(await handle('b').Clear(), undefined);
    assert.equal(await handle('b').Get(), 0);
  });

  test('reject with the refusal of the turn, and with the field of a payload that does not fit', async () => {
    await assert.rejects(
      handle('c').Add({ by: -1 }),
      (error) => error instanceof SvcError && error.code === 'invalid_argument',
    );
    const wrong: { by: number } = JSON.parse('{"by":"two"}');
    await assert.rejects(handle('c').Add(wrong), /Add: by: Invalid input: expected number/);
  });

  test('with the id of an earlier message are handled once', async () => {
    const messageId = '6c1f4d7e-20a4-4d0f-9c6e-3a1e5b7d9f01';
    for (let time = 0; time < 3; time += 1)
      assert.deepEqual(await handle('d').Add({ by: 7 }, { messageId }), { value: 7 });
  });

  test('an effect is asked for by its definition', async () => {
    await handle('e').Add({ by: 4 });
    await handle('e').Double();
    await waitUntil('the effect has ended', async () => (await handle('e').Get()) === 8);
  });
});

describe('a definition', () => {
  test('whose answer does not fit its schema fails the turn: nothing of it is committed', () => {
    const driver = new ActorDriver(counter, 'acme', 'a');
    assert.throws(() => driver.send('Add', { by: 101 }), /100/);
    assert.deepEqual(driver.state, { value: 0 });
  });

  test('with a message without a handler, or a handler without a message, is refused by name', () => {
    const shape = { kind: 'odd', version: 1, state: State, initial: () => ({ value: 0 }), events: {} };
    const messages = { Add: z.object({}) };
    const incomplete: { Add: () => { value: number } } = JSON.parse('{}');
    assert.throws(
      () => defineActor({ ...shape, messages, on: incomplete }),
      /odd: "on" has no handler for message Add/,
    );
    const on = { Add: () => ({ value: 1 }), Remove: () => ({ value: 1 }) };
    assert.throws(() => defineActor({ ...shape, messages, on }), /odd: "messages" has no schema for handler Remove/);
  });

  test('is not served with only one of the two stores', async () => {
    const options = { dataDir: '/nowhere', actors: [counter] };
    await assert.rejects(
      startRuntime({ ...options, redis: ['redis://127.0.0.1:1'] }),
      /redis and mongodb belong together/,
    );
    const servers = { redis: ['redis://127.0.0.1:1'], mongodb: 'mongodb://127.0.0.1:1' };
    await assert.rejects(startRuntime({ ...options, ...servers }), /node: with redis each process needs its own name/);
  });
});

test('a runtime serves actors on stores that its author opened, and leaves them open', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-own-stores-'));
  const warned: string[] = [];
  const warn = (text: string) => warned.push(text);
  const settings = { partitions: 2, systemPartitions: 1 };
  const stores = await openStores({ dataDir, warn });
  for (const expected of [2, 4]) {
    const runtime = await startRuntime({ stores, actors: [counter], effects: [double], settings, warn });
    assert.deepEqual(await runtime.client.actor(counter, 'acme', 'own').Add({ by: 2 }), { value: expected });
    await runtime.stop();
  }
  await stores.close();
  rmSync(dataDir, { recursive: true, force: true });
  assert.deepEqual(warned, []);
  await assert.rejects(startRuntime({ actors: [] }), /dataDir: name a folder \(with redis too\), or give stores/);
});

test('a driver takes only the messages of its definition, and its state has the type of the definition', () => {
  const driver = new ActorDriver(counter, 'acme', 'a');
  driver.send('Add', { by: 2 });
  const { value } = driver.state;
  assert.equal(value, 2);
  type Sent = Parameters<typeof driver.send>[0];
  const isNarrow: Sent extends keyof typeof counter.messages ? true : false = true;
  assert.ok(isNarrow);
});
